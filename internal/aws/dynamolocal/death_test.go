package dynamolocal

import (
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestKilledEngineHasError checks that a killed engine's error has its exit and its output, and that it can be stopped.
func TestKilledEngineHasError(t *testing.T) {
	t.Parallel()
	require.Engine(t)
	e, err := StartEngine(t.Context(), Options{})
	require.NoError(t, err)
	if err := e.Err(); err != nil {
		t.Errorf("a running engine has the error %v", err)
	}
	require.NoError(t, e.process.Kill())
	<-e.Done()
	if err := e.Err(); err == nil || !strings.Contains(err.Error(), "signal: killed") || !strings.Contains(err.Error(), "Initializing") {
		t.Errorf("Err() = %v, want the signal and the output", err)
	}
	if err := e.Stop(); err != nil {
		t.Errorf("Stop returned %v", err)
	}
}
