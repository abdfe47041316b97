package httpapi

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// TestFirstRequestsAtOnce checks concurrent first requests of each call, which make the handlers. A wrong method is a 405 in
// problem JSON that names the allowed ones.
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
				handler.ServeHTTP(answer, request)
				if answer.Code != c.status || answer.Header().Get("Allow") != c.allow || c.status >= 400 && !strings.Contains(answer.Body.String(), fmt.Sprint(`"status":`, c.status)) {
					t.Errorf("%s %s: %d %v %s, want %d, Allow: %s", c.method, c.path, answer.Code, answer.Header(), answer.Body, c.status, c.allow)
				}
			})
		}
	}
	group.Wait()
}
