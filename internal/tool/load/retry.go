package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// result is the API's result of one item of a call.
type result struct {
	Status string `json:"status"`
	Detail string `json:"detail"`
}

func (r result) accepted() bool { return r.Status == "accepted" }

// ambiguous reports whether a rejected item may have been applied.
func (r result) ambiguous() bool { return !r.accepted() && strings.Contains(r.Detail, maybeWritten) }

// postItem posts a body with one item, and returns the item's result. key is the Idempotency-Key, "" for none.
func (d *driver) postItem(ctx context.Context, path, key string, body any) (result, error) {
	var answer struct {
		Results []result `json:"results"`
	}
	if err := d.api.Call(ctx, http.MethodPost, path, key, body, &answer); err != nil {
		return result{}, err
	}
	if len(answer.Results) != 1 {
		return result{}, fmt.Errorf("POST %s: the answer has %d results for 1 item", path, len(answer.Results))
	}
	return answer.Results[0], nil
}

// Pauses before a retry.
const (
	firstPause    = 25 * time.Millisecond
	maxBackoff    = 2 * time.Second
	maxRetryAfter = 30 // seconds; a longer Retry-After is cut to this
)

// pauseBeforeRetry waits as long as the API asked in err, or else with exponential backoff up to maxBackoff. Random parts
// separate callers that were throttled together. attempt counts from 0. An error means that ctx has ended.
func pauseBeforeRetry(ctx context.Context, attempt int, err error) error {
	pause := min(firstPause<<min(attempt, 20), maxBackoff)
	pause = pause/2 + rand.N(pause/2)
	if failed, ok := errors.AsType[*CallError](err); ok && failed.pause > 0 {
		pause = failed.pause + rand.N(firstPause)
	}
	return sleep(ctx, pause)
}

// sleep waits for a time. If ctx ends before, it returns the cause.
func sleep(ctx context.Context, pause time.Duration) error {
	if !dynamo.Pause(ctx, pause) {
		return context.Cause(ctx)
	}
	return nil
}

// getWithRetries reads path into a value. It retries errors that may pass, up to Options.Retries times.
func (d *driver) getWithRetries(ctx context.Context, path string, into any) error {
	for attempt := 0; ; attempt++ {
		err := d.api.Call(ctx, http.MethodGet, path, "", nil, into)
		if err == nil || attempt == d.Retries || !mayRetry(ctx, err) {
			return err
		}
		if err := pauseBeforeRetry(ctx, attempt, err); err != nil {
			return err
		}
	}
}

// mayRetry reports whether a retry may succeed: the error may pass, and ctx has not ended.
func mayRetry(ctx context.Context, err error) bool {
	failed, ok := errors.AsType[*CallError](err)
	return ok && failed.retryable && ctx.Err() == nil
}
