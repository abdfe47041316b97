package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/hotshard/hotshard/pkg/shard"
)

// TestFirstRequestsAtOnce checks concurrent first requests of each call, which make the handlers. A wrong method is a
// 405 in problem JSON that names the allowed ones.
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

// TestGoneCallerIsNotLogged checks that a failed call logs an error, unless its caller has left.
func TestGoneCallerIsNotLogged(t *testing.T) {
	for name, fails := range map[string]error{"unavailable": shard.ErrUnavailable, "internal": errors.New("oops")} {
		for _, left := range []bool{true, false} {
			var log bytes.Buffer
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			routes := func(api *API) {
				Register(api, Operation(ForCallers, http.MethodGet, "/things", "things", "Things", ""), func(context.Context, *struct{}) (*struct{}, error) {
					if left {
						leave()
					}
					return nil, fails
				})
			}
			handler := New(slog.New(slog.NewTextHandler(&log, nil)), routes)
			handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/things", nil))
			if logged := strings.Contains(log.String(), "level=ERROR"); logged == left {
				t.Errorf("%s, left %t: the log is %q", name, left, log.String())
			}
		}
	}
}
