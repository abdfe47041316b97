package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/danielgtaylor/huma/v2"
	"github.com/oklog/ulid/v2"
)

type requestKey struct{}

// gatewayKey is the key of API Gateway's request id in a request's context.
type gatewayKey struct{}

type request struct {
	id  string
	log *slog.Logger
}

// withRequestID returns the request with an id and a logger, and sets X-Request-Id. On Lambda the id is the
// invocation's, and log lines also have API Gateway's id, as its access log does.
func withRequestID(w http.ResponseWriter, r *http.Request, log *slog.Logger, path string) *http.Request {
	id := ulid.Make().String()
	if lc, ok := lambdacontext.FromContext(r.Context()); ok {
		id = lc.AwsRequestID
	}
	w.Header().Set("X-Request-Id", id)
	log = log.With("request_id", id, "method", r.Method, "route", path)
	if gatewayID, ok := r.Context().Value(gatewayKey{}).(string); ok {
		log = log.With("api_request_id", gatewayID)
	}
	return r.WithContext(context.WithValue(r.Context(), requestKey{}, request{id, log}))
}

// queryFault returns the error response for a malformed query string; nil if it is valid. The framework would silently
// ignore the malformed parameters.
func queryFault(query string) huma.StatusError {
	if _, err := url.ParseQuery(query); err != nil {
		return newProblem(http.StatusBadRequest, "the query string is malformed",
			&huma.ErrorDetail{Location: "query", Message: err.Error(), Value: query})
	}
	return nil
}

// signaturePrefix begins the names of a signed URL's parameters, which are for API Gateway.
const signaturePrefix = "X-Amz-"

// rejectUnknownParameters rejects requests with unknown query parameters, or repeated parameters that are not lists.
func rejectUnknownParameters(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		var faults []error
		url := ctx.URL()
		for name, values := range url.Query() {
			if message := parameterFault(ctx.Operation(), name, values); message != "" {
				faults = append(faults, &huma.ErrorDetail{Location: "query." + name, Message: message, Value: values})
			}
		}
		if faults == nil {
			next(ctx)
			return
		}
		_ = huma.WriteErr(api, ctx, http.StatusUnprocessableEntity, invalidDetail, faults...) // the client may be gone
	}
}

// parameterFault returns why a query parameter is rejected, or "" if it is valid.
func parameterFault(op *huma.Operation, name string, values []string) string {
	if strings.HasPrefix(name, signaturePrefix) {
		return ""
	}
	for _, p := range op.Parameters {
		switch {
		case p.In != "query" || p.Name != name:
		case len(values) > 1 && p.Schema.Type != huma.TypeArray:
			return "it is given more than once"
		case slices.Contains(values, "") && !mayBeEmpty(p.Schema): // the framework treats "" as absent
			return "it is empty"
		default:
			return ""
		}
	}
	return "there is no such parameter"
}

// mayBeEmpty reports whether a parameter may be the empty text, such as a first page's cursor.
func mayBeEmpty(s *huma.Schema) bool {
	return s.Type != huma.TypeInteger && s.MinLength == nil && s.Enum == nil && s.Extensions == nil
}

// RequestID returns the id in the request's log lines, or "" for a context without a request.
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

// eventPath is the prefix of the only path that ends in a name.
const eventPath = "/v1/events/"

// route returns the path of a call as it was registered, and the event's id if the path has one. The id may contain
// slashes.
func route(path string) (call, id string) {
	if id, ok := strings.CutPrefix(path, eventPath); ok && id != "" {
		return eventPath + "{id}", id
	}
	return path, ""
}
