// Package systemtest runs the whole local system for tests of what calls it.
//
//	s := systemtest.Run(t, system.Options{Prefix: enginetest.Prefix("audit"), Window: time.Second, Control: "off"})
//	answer, err := http.Get(s.URL() + "/healthz")
package systemtest

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/hotshard/hotshard/internal/local/enginetest"
	"github.com/hotshard/hotshard/internal/local/system"
)

// Run starts a system on a loopback address of its own and on the tests' engine, with failures
// in a folder that goes with the test and no log. It stops when the test ends, which fails if
// the system does.
func Run(t *testing.T, o system.Options) *system.System {
	t.Helper()
	o.Addr, o.Endpoint = "127.0.0.1:0", enginetest.Endpoint(t)
	o.Failures, o.Log = filepath.Join(t.TempDir(), "failures.jsonl"), slog.New(slog.DiscardHandler)
	s, err := system.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
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
