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

const (
	firstPause = 25 * time.Millisecond
	longPause  = 2 * time.Second
	maxPause   = 30 // seconds; the maximum that the API may ask for
)

// pauseBeforeRetry waits as long as the API asked, or else with exponential backoff up to longPause. Jitter
// separates callers that were throttled together. It returns an error if ctx ends.
func pauseBeforeRetry(ctx context.Context, attempt int, err error) error {
	wait := min(firstPause<<min(attempt, 20), longPause)
	wait = wait/2 + rand.N(wait/2)
	if failed, ok := errors.AsType[*CallError](err); ok && failed.after > 0 {
		wait = failed.after + rand.N(firstPause)
	}
	return sleep(ctx, wait)
}

func sleep(ctx context.Context, wait time.Duration) error {
	if !dynamo.Pause(ctx, wait) {
		return context.Cause(ctx)
	}
	return nil
}

// getRetried reads path until it succeeds, fails with an error that may not be retried, or the retries are used up.
func (d *driver) getRetried(ctx context.Context, path string, into any) error {
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

func mayRetry(ctx context.Context, err error) bool {
	failed, ok := errors.AsType[*CallError](err)
	return ok && failed.retryable && ctx.Err() == nil
}
