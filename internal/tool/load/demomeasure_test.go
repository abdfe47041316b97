package load

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestVerdictAfterFailedRequest checks that the demo continues after a 503, and returns it only if every request fails.
func TestVerdictAfterFailedRequest(t *testing.T) {
	requests, failures := 0, 1
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests++; requests <= failures {
			http.Error(w, "SlowDown", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintf(w, `{"keys":[{"type":"counter","name":%q,"status":"hot"}]}`, DemoCounter)
	}))
	defer api.Close()
	m := &measured{}
	if err := (demoAPI{api.URL}).watchVerdict(t.Context(), m); err != nil || m.verdict.IsZero() || requests != 2 {
		t.Errorf("after one failure: %v, %d requests; want a verdict after 2", err, requests)
	}
	failures = 1000
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := (demoAPI{api.URL}).watchVerdict(ctx, m); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("if all requests fail: %v, want 503", err)
	}
}
