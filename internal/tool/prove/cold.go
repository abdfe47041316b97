package prove

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// warmCalls is the number of calls in a row before the burst.
const warmCalls = 20

// Cold has the response times of cold starts.
type Cold struct {
	First float64 `json:"first_ms"` // the first call
	Warm  float64 `json:"warm_p50_ms"`
	// Burst has concurrent calls, for which there are too few containers.
	Burst  Offered `json:"burst"`
	Calls  int64   `json:"calls"`           // all of these
	Opened int64   `json:"new_connections"` // of all these calls
}

// cold makes a first call, then some calls in a row, then a burst.
func (r *run) cold(ctx context.Context, _ *running, c *caller) error {
	r.say("cold starts: %d calls at once", r.Plan.Callers)
	result := &Cold{}
	r.report.Cold = result
	increment := func(n int) (answer, error) {
		return c.callAPI(ctx, write, http.MethodPost, "/v1/counters", "", incrementOf(fmt.Sprintf("cold-%d", n)), nil)
	}
	first, err := persist(ctx, firstTries, firstPause, func() (answer, error) { return increment(0) })
	if err != nil {
		return fmt.Errorf("the first call: %w", err)
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
	var inFlight sync.WaitGroup
	for n := range r.Plan.Callers {
		inFlight.Go(func() {
			a, err := increment(n + 1)
			burst.addAnswer(0, a, err)
		})
	}
	inFlight.Wait()
	result.Burst = burst.total()
	result.Calls, result.Opened = c.made.Load(), c.opened.Load()
	return ctx.Err()
}

// For some seconds after a deployment the API does not authorize calls.
const (
	firstTries = 60
	firstPause = time.Second
)

// incrementOf returns the body of a call that adds 1 to a counter.
func incrementOf(counter string) any {
	return map[string]any{"increments": []any{map[string]any{"counter": counter, "delta": 1}}}
}
