// Package systemtest runs the whole local system for tests.
//
//	s := systemtest.Run(t, system.Options{Prefix: enginetest.Prefix("check"), Window: time.Second, Control: "off"})
//	answer, err := http.Get(s.URL() + "/healthz")
package systemtest

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/tool/system"
)

// Run starts a system on a loopback address and on the tests' engine. Its failures go to a
// temporary folder, and it has no log. The system stops when the test ends, and its error fails
// the test.
func Run(t *testing.T, o system.Options) *system.System {
	t.Helper()
	o.Addr, o.Endpoint = "127.0.0.1:0", enginetest.Endpoint(t)
	o.Failures, o.Log = filepath.Join(t.TempDir(), "failures.jsonl"), slog.New(slog.DiscardHandler)
	s, err := system.Start(t.Context(), o)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}
