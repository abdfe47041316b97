package load

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

const (
	firstPause = 25 * time.Millisecond
	longPause  = 2 * time.Second
	maxPause   = 30 // seconds; the maximum that the API may ask for
)

// pause waits before a retry: as long as the API asked, or else with exponential backoff up to longPause. Jitter
// separates callers that were throttled together.
func pause(ctx context.Context, attempt int, err error) error {
	wait := min(firstPause<<min(attempt, 20), longPause)
	wait = wait/2 + rand.N(wait/2)
	if failed, ok := errors.AsType[*callError](err); ok && failed.after > 0 {
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
func (a *api) getRetried(ctx context.Context, path string, into any) error {
	for attempt := 0; ; attempt++ {
		err := a.callOnce(ctx, http.MethodGet, path, "", nil, into)
		if err == nil || attempt == a.retries || !mayRetry(ctx, err) {
			return err
		}
		if err := pause(ctx, attempt, err); err != nil {
			return err
		}
	}
}

func mayRetry(ctx context.Context, err error) bool {
	failed, ok := errors.AsType[*callError](err)
	return ok && failed.retryable && ctx.Err() == nil
}
