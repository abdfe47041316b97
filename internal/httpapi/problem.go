package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// retryAfter is the Retry-After of 429 and 503 responses, in seconds.
const retryAfter = "1"

// Problem returns the error response for an error of a service. The error's kind decides the status; callers see
// detail, except with status 500. Problem returns nil and error responses unchanged.
func Problem(ctx context.Context, err error, detail string) error {
	if _, ok := errors.AsType[huma.StatusError](err); ok || err == nil {
		return err
	}
	if errors.Is(context.Cause(ctx), context.Canceled) { // the caller has left and reads no response
		return retryLater(http.StatusServiceUnavailable, shard.ErrUnavailable.Error())
	}
	switch {
	case errors.Is(err, shard.ErrNotFound):
		return newProblem(http.StatusNotFound, detail)
	case errors.Is(err, boards.ErrModeFixed), errors.Is(err, shardmap.ErrFull):
		return newProblem(http.StatusConflict, detail)
	case errors.Is(err, boards.ErrScoreRange):
		return newProblem(http.StatusUnprocessableEntity, detail)
	case errors.Is(err, shard.ErrContended):
		loggerOf(ctx).Info("contention", "error", err)
		return retryLater(http.StatusTooManyRequests, detail)
	case errors.Is(err, shard.ErrThrottled):
		return retryLater(http.StatusTooManyRequests, detail)
	case errors.Is(err, shard.ErrStale), errors.Is(err, shard.ErrUnavailable):
		loggerOf(ctx).Error("unavailable", "error", err)
		return retryLater(http.StatusServiceUnavailable, detail)
	}
	loggerOf(ctx).Error("internal error", "error", err)
	if item, ok := errors.AsType[*shard.ItemError](err); ok {
		return unreadable(ctx, item)
	}
	return internalError(ctx)
}

// Invalid returns a 422 with the faults of the request, each a [*huma.ErrorDetail].
func Invalid(faults ...error) error {
	return huma.Error422UnprocessableEntity(invalidDetail, faults...)
}

// InvalidAt returns a 422 for one fault, of the value at a location of the request.
func InvalidAt(location, message string, value any) error {
	return Invalid(&huma.ErrorDetail{Location: location, Message: message, Value: value})
}

// Absent returns a 404 whose detail says what does not exist.
func Absent(format string, values ...any) error {
	return newProblem(http.StatusNotFound, fmt.Sprintf(format, values...))
}

// invalidDetail is the detail of each 422, including the framework's.
const invalidDetail = "validation failed"

// unreadable returns the error response for an item that hotshard can't read. A response without the item would be
// incomplete.
func unreadable(ctx context.Context, e *shard.ItemError) huma.StatusError {
	return newProblem(http.StatusInternalServerError, fmt.Sprintf(
		"the item with the sort key %q in the table can't be read: repair or delete it there; the request's id is %s", cutTo(e.SK, maxPlace), RequestID(ctx)))
}

// Detail returns the text of an error's kind, which callers may see.
func Detail(err error) string {
	for _, kind := range []error{shard.ErrNotFound, boards.ErrModeFixed, boards.ErrScoreRange, shard.ErrContended, dynamo.ErrUnsent, shard.ErrThrottled, shard.ErrStale, shard.ErrUnavailable} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return "internal error"
}

func retryLater(status int, detail string) error {
	return huma.ErrorWithHeaders(newProblem(status, detail), http.Header{"Retry-After": {retryAfter}})
}

func internalError(ctx context.Context) huma.StatusError {
	return newProblem(http.StatusInternalServerError, "internal error; the request's id is "+RequestID(ctx))
}

func writeProblem(w http.ResponseWriter, p huma.StatusError) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Del("Content-Length")
	w.WriteHeader(p.GetStatus())
	_ = json.NewEncoder(w).Encode(p) // the client may be gone
}
