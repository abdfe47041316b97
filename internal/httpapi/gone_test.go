package httpapi

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/pkg/shard"
)

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
