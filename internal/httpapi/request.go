package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/awslabs/aws-lambda-go-api-proxy/core"
	"github.com/danielgtaylor/huma/v2"
	"github.com/oklog/ulid/v2"
)

type requestKey struct{}

type request struct {
	id  string
	log *slog.Logger
}

// withRequest gives every request an id, Lambda's own where there is one, and
// tells it in the answer's X-Request-Id. Log lines also have API Gateway's, which its
// access log has.
func withRequest(log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := ulid.Make().String()
		if lc, ok := lambdacontext.FromContext(r.Context()); ok {
			id = lc.AwsRequestID
		}
		w.Header().Set("X-Request-Id", id)
		known := request{id, log.With("request_id", id, "method", r.Method, "route", route(r.URL.Path))}
		if gateway, ok := core.GetAPIGatewayV2ContextFromContext(r.Context()); ok {
			known.log = known.log.With("api_request_id", gateway.RequestID)
		}
		if fault := queryFault(r.URL.RawQuery); fault != nil {
			writeProblem(w, fault)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, known)))
	})
}

// queryFault refuses a query string that can't be read as a whole: what is dropped
// in silence may be what the caller meant.
func queryFault(query string) huma.StatusError {
	if _, err := url.ParseQuery(query); err != nil {
		return newProblem(http.StatusBadRequest, "the query string is malformed",
			&huma.ErrorDetail{Location: "query", Message: err.Error(), Value: query})
	}
	return nil
}

// signature begins the parameters that a signed URL has. They are for API Gateway.
const signature = "X-Amz-"

// onlyKnown refuses query parameters that an operation doesn't have, and such as are
// given more than once and are no list.
func onlyKnown(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		var faults []error
		at := ctx.URL()
		for name, values := range at.Query() {
			if message := misuse(ctx.Operation(), name, values); message != "" {
				faults = append(faults, &huma.ErrorDetail{Location: "query." + name, Message: message, Value: values})
			}
		}
		if faults == nil {
			next(ctx)
			return
		}
		_ = huma.WriteErr(api, ctx, http.StatusUnprocessableEntity, invalid, faults...) // the client may be gone
	}
}

func misuse(op *huma.Operation, name string, values []string) string {
	if strings.HasPrefix(name, signature) {
		return ""
	}
	for _, p := range op.Parameters {
		switch {
		case p.In != "query" || p.Name != name:
		case len(values) > 1 && p.Schema.Type != huma.TypeArray:
			return "it is given more than once"
		default:
			return ""
		}
	}
	return "there is no such parameter"
}

// RequestID returns the id that the request's log lines carry.
func RequestID(ctx context.Context) string {
	known, _ := ctx.Value(requestKey{}).(request)
	return known.id
}

// Warn writes a line into the log of the request.
func Warn(ctx context.Context, message string, args ...any) { loggerOf(ctx).Warn(message, args...) }

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

// segmentMark stands before an id in a path of ours, so that an id that is a slash
// or dots is no path's end or step.
const segmentMark = "="

// PathName is a name that is the rest of a path.
type PathName string

// Resolve takes the mark off, and checks the name.
func (n *PathName) Resolve(ctx huma.Context, at *huma.PathBuffer) []error {
	*n = PathName(strings.TrimPrefix(string(*n), segmentMark))
	return Name(*n).Resolve(ctx, at)
}

// Schema describes a name in the OpenAPI document.
func (PathName) Schema(r huma.Registry) *huma.Schema { return Name("").Schema(r) }

// oneSegment makes all that follows /v1/events/ one path segment, whether or not
// its slashes came percent-encoded: an id may contain any of them.
func oneSegment(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, ok := strings.CutPrefix(r.URL.Path, eventPath)
		if ok && id != "" {
			r = r.Clone(r.Context())
			r.URL.Path = eventPath + segmentMark + id
			r.URL.RawPath = eventPath + segmentMark + url.PathEscape(id)
		}
		next.ServeHTTP(w, r)
	})
}
