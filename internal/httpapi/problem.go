package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// retryAfter is the Retry-After of answers that ask for patience, in seconds.
const retryAfter = "1"

// Problem turns an error of a service into the answer that callers get. It is
// the only place that does. Errors that already are answers stay as they are.
func Problem(ctx context.Context, err error) error {
	return ProblemWith(ctx, err, Detail(err))
}

// ProblemWith is Problem with another detail, for a caller who can say more.
func ProblemWith(ctx context.Context, err error, detail string) error {
	if _, ok := errors.AsType[huma.StatusError](err); ok || err == nil {
		return err
	}
	switch {
	case errors.Is(err, shard.ErrNotFound):
		return newProblem(http.StatusNotFound, detail)
	case errors.Is(err, boards.ErrModeSettled):
		return newProblem(http.StatusConflict, detail)
	case errors.Is(err, boards.ErrScoreRange):
		return newProblem(http.StatusUnprocessableEntity, detail)
	case errors.Is(err, shard.ErrContended):
		loggerOf(ctx).Info("contention", "error", err)
		return patience(http.StatusTooManyRequests, detail)
	case errors.Is(err, shard.ErrThrottled):
		return patience(http.StatusTooManyRequests, detail)
	case errors.Is(err, shard.ErrStale), errors.Is(err, shard.ErrUnavailable):
		loggerOf(ctx).Error("unavailable", "error", err)
		return patience(http.StatusServiceUnavailable, detail)
	}
	loggerOf(ctx).Error("internal error", "error", err)
	if item, ok := errors.AsType[*shard.ItemError](err); ok {
		return unreadable(ctx, item)
	}
	return internalError(ctx)
}

// Invalid is the answer to a request that breaks rules, with what is wrong: each a
// [*huma.ErrorDetail].
func Invalid(faults ...error) error {
	return huma.Error422UnprocessableEntity(invalid, faults...)
}

// InvalidAt is Invalid for one fault, of the value at a place of the request.
func InvalidAt(location, message string, value any) error {
	return Invalid(&huma.ErrorDetail{Location: location, Message: message, Value: value})
}

// invalid is the detail of each such answer, the framework's too.
const invalid = "validation failed"

// unreadable is the answer where an item that somebody else wrote is in the way: a read
// that left it out would not be whole, and only those who know what it is can remove it.
func unreadable(ctx context.Context, e *shard.ItemError) huma.StatusError {
	return newProblem(http.StatusInternalServerError, fmt.Sprintf(
		"the item with the sort key %q in the table can't be read, and must be mended or deleted there; the request's id is %s", cutTo(e.SK, maxPlace), RequestID(ctx)))
}

// Detail says in words that suit a caller what kind of error it is.
func Detail(err error) string {
	for _, kind := range []error{shard.ErrNotFound, boards.ErrModeSettled, boards.ErrScoreRange, shard.ErrContended, shard.ErrThrottled, shard.ErrStale, shard.ErrUnavailable} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return "internal error"
}

func patience(status int, detail string) error {
	return huma.ErrorWithHeaders(newProblem(status, detail), http.Header{"Retry-After": {retryAfter}})
}

func internalError(ctx context.Context) huma.StatusError {
	return newProblem(http.StatusInternalServerError, "internal error; the request's id is "+RequestID(ctx))
}

func writeProblem(w http.ResponseWriter, p huma.StatusError) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Del("Content-Length")
	w.WriteHeader(p.GetStatus())
	_ = json.NewEncoder(w).Encode(p) // the client may be gone
}

// problems answers what the mux refuses (no such path, wrong method) as problem
// JSON, like everything else. A path that it would redirect to is another one, and so is
// what doesn't begin with a slash.
func problems(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := cut(route(r.URL.Path))
		if escaped := r.URL.EscapedPath(); path.Clean(escaped) != escaped || !strings.HasPrefix(escaped, "/") {
			writeProblem(w, newProblem(http.StatusNotFound, "there is no "+at))
			return
		}
		handler, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		refusal := &statusOnly{header: w.Header(), status: http.StatusOK}
		handler.ServeHTTP(refusal, r)
		detail := "there is no " + at
		if allow := w.Header().Get("Allow"); allow != "" {
			detail = at + " takes " + allow
		}
		writeProblem(w, newProblem(refusal.status, detail))
	})
}

// statusOnly keeps an answer's status and headers, and drops its body.
type statusOnly struct {
	header http.Header
	status int
}

func (s *statusOnly) Header() http.Header         { return s.header }
func (s *statusOnly) WriteHeader(status int)      { s.status = status }
func (s *statusOnly) Write(b []byte) (int, error) { return len(b), nil }
