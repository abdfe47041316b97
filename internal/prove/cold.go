package prove

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/dynamo"
)

// warmCalls are made one after the other, before the burst of the cold starts.
const warmCalls = 20

// Cold says what callers see of containers that start.
type Cold struct {
	First float64 `json:"first_ms"` // the first call of all
	Warm  float64 `json:"warm_p50_ms"`
	// Burst are calls at once, when few containers are there.
	Burst Offered `json:"burst"`
	// Opened are the connections that all these calls took.
	Calls  int64 `json:"calls"`
	Opened int64 `json:"new_connections"`
}

// cold calls once, then some times one after the other, then many times at once.
func (r *run) cold(ctx context.Context, _ *running, c *caller) error {
	r.say("cold starts: %d calls at once", r.Plan.Callers)
	result := &Cold{}
	r.report.Cold = result
	increment := func(n int) (answer, error) {
		return c.call(ctx, write, http.MethodPost, "/v1/counters", "", incrementOf(fmt.Sprintf("cold-%d", n)), nil)
	}
	first, err := r.first(ctx, func() (answer, error) { return increment(0) })
	if err != nil {
		return err
	}
	result.First = float64(first.took.Microseconds()) / 1000
	var warm []time.Duration
	for range warmCalls {
		a, err := increment(0)
		if err != nil {
			return err
		}
		warm = append(warm, a.took)
	}
	result.Warm, _, _ = spread(warm)
	burst := newOutcomes(time.Second)
	var under sync.WaitGroup
	for n := range r.Plan.Callers {
		under.Go(func() {
			a, err := increment(n + 1)
			burst.add(0, a, err)
		})
	}
	under.Wait()
	result.Burst = burst.total()
	result.Calls, result.Opened = c.made.Load(), c.opened.Load()
	return ctx.Err()
}

// A deployment's API takes some seconds until it knows who may call it.
const (
	firstTries = 60
	firstPause = time.Second
)

// first makes the first call until it succeeds, and returns that one.
func (r *run) first(ctx context.Context, call func() (answer, error)) (answer, error) {
	for try := 1; ; try++ {
		a, err := call()
		if err == nil && a.status == http.StatusOK {
			return a, nil
		}
		if err == nil {
			err = fmt.Errorf("status %d", a.status)
		}
		if try == firstTries || !dynamo.Pause(ctx, firstPause) {
			return a, fmt.Errorf("the first call, %d times: %w", try, err)
		}
	}
}

// incrementOf is a call's body that adds 1 to a counter.
func incrementOf(counter string) any {
	return map[string]any{"increments": []any{map[string]any{"counter": counter, "delta": 1}}}
}
