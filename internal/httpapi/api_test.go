package httpapi

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// TestFirstRequestsAtOnce: a call is made ready by its first request, of which many may come
// at a time, and of several calls.
func TestFirstRequestsAtOnce(t *testing.T) {
	handler, _ := things(&bytes.Buffer{})
	var group sync.WaitGroup
	for range 16 {
		for _, c := range []struct {
			method, path string
			status       int
		}{{http.MethodGet, "/healthz", 200}, {http.MethodHead, "/healthz", 200}, {http.MethodPost, "/things", 422}, {http.MethodPut, "/things", 405}} {
			group.Go(func() {
				request := httptest.NewRequestWithContext(t.Context(), c.method, c.path, strings.NewReader(`{"things":[]}`))
				request.Header.Set("Content-Type", "application/json")
				answer := httptest.NewRecorder()
				if handler.ServeHTTP(answer, request); answer.Code != c.status {
					t.Errorf("%s %s: %d %s", c.method, c.path, answer.Code, answer.Body)
				}
			})
		}
	}
	group.Wait()
}
