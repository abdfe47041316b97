package main

import (
	"context"
	"log/slog"
	"testing"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/tool/system"
)

// runSystem runs the whole local system on a loopback address and on the tests' engine until the test ends. Its error
// fails the test.
func runSystem(t *testing.T, o system.Options) *system.System {
	t.Helper()
	o.Addr, o.Endpoint = "127.0.0.1:0", enginetest.Endpoint(t)
	o.Log = slog.New(slog.DiscardHandler)
	s, err := system.Start(t.Context(), o)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	return s
}
