package httpapi

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// TestFirstRequestsAtOnce checks concurrent first requests of several calls, whose handlers are made by the first one.
func TestFirstRequestsAtOnce(t *testing.T) {
	handler, _ := things(&bytes.Buffer{})
	var group sync.WaitGroup
	for range 16 {
		for _, c := range []struct {
			method, path string
			status       int
			allow        string
		}{
			{http.MethodGet, "/healthz", 200, ""}, {http.MethodHead, "/healthz", 200, ""}, {http.MethodPost, "/things", 422, ""},
			{http.MethodPut, "/things", 405, "POST"}, {http.MethodPut, "/healthz", 405, "GET, HEAD"},
		} {
			group.Go(func() {
				request := httptest.NewRequestWithContext(t.Context(), c.method, c.path, strings.NewReader(`{"things":[]}`))
				request.Header.Set("Content-Type", "application/json")
				answer := httptest.NewRecorder()
				if handler.ServeHTTP(answer, request); answer.Code != c.status || answer.Header().Get("Allow") != c.allow {
					t.Errorf("%s %s: %d %s", c.method, c.path, answer.Code, answer.Body)
				}
			})
		}
	}
	group.Wait()
}
