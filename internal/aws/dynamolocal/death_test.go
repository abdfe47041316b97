package dynamolocal

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/internal/test/require"
)

// TestKilledEngineHasError checks that a killed engine's error has its exit and its output, and that it can be stopped.
func TestKilledEngineHasError(t *testing.T) {
	t.Parallel()
	lane.NeedsEngine(t)
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

// TestEngineWithoutMemoryEnds checks that an engine which runs out of heap ends with that error. Otherwise it would run
// without the threads that accept connections.
func TestEngineWithoutMemoryEnds(t *testing.T) {
	t.Parallel()
	lane.NeedsEngine(t)
	e, err := StartEngine(t.Context(), Options{HeapMB: 32})
	require.NoError(t, err)
	defer e.Stop()
	body := `{"TableName":"` + strings.Repeat("x", 8<<20) + `"}`
	for range 64 {
		go func() {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.Endpoint(), strings.NewReader(body))
			if err != nil {
				return
			}
			request.Header.Set("Content-Type", "application/x-amz-json-1.0")
			request.Header.Set("X-Amz-Target", "DynamoDB_20120810.DescribeTable")
			request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=a/20260101/eu-west-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
			if answer, err := transport.RoundTrip(request); err == nil {
				answer.Body.Close()
			}
		}()
	}
	select {
	case <-e.Done():
	case <-time.After(time.Minute):
		t.Fatal("the engine still runs after a minute")
	}
	if err := e.Err(); err == nil || !strings.Contains(err.Error(), "OutOfMemoryError") {
		t.Errorf("Err() = %v, want OutOfMemoryError", err)
	}
}
