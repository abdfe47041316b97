package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/oklog/ulid/v2"
)

type requestKey struct{}

type request struct {
	id  string
	log *slog.Logger
}

// withRequest gives every request an id, Lambda's own where there is one, and
// tells it in the answer's X-Request-Id.
func withRequest(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := ulid.Make().String()
		if lc, ok := lambdacontext.FromContext(r.Context()); ok {
			id = lc.AwsRequestID
		}
		w.Header().Set("X-Request-Id", id)
		known := request{id, log.With("request_id", id, "method", r.Method, "route", route(r.URL.Path))}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, known)))
	})
}

// RequestID returns the id that the request's log lines carry.
func RequestID(ctx context.Context) string {
	known, _ := ctx.Value(requestKey{}).(request)
	return known.id
}

func loggerOf(ctx context.Context) *slog.Logger {
	if known, ok := ctx.Value(requestKey{}).(request); ok {
		return known.log
	}
	return slog.Default()
}

// eventPath is the one path that ends in a name.
const eventPath = "/v1/events/"

func route(path string) string {
	if strings.HasPrefix(path, eventPath) {
		return eventPath + "{id}"
	}
	return path
}

// oneSegment makes all that follows /v1/events/ one path segment, whether or not
// its slashes came percent-encoded: an id may contain any of them.
func oneSegment(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, ok := strings.CutPrefix(r.URL.Path, eventPath)
		if ok && id != "" {
			r = r.Clone(r.Context())
			r.URL.RawPath = eventPath + strings.ReplaceAll(url.PathEscape(id), ".", "%2E")
		}
		next.ServeHTTP(w, r)
	})
}
