package browser

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestStartIsBounded checks that the context ends the start of a browser that never answers.
func TestStartIsBounded(t *testing.T) {
	silent := filepath.Join(t.TempDir(), "silent")
	require.NoError(t, os.WriteFile(silent, []byte("#!/bin/sh\nexec sleep 600\n"), 0o700))
	t.Setenv(Variable, silent)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, stop, err := Start(ctx, nil)
	if err == nil {
		stop()
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the context's", err)
	}
}
