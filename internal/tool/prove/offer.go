package prove

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// Offered has the results of calls that start at a constant rate, independent of earlier calls' responses.
type Offered struct {
	Offered   int     `json:"offered"`
	Accepted  int     `json:"accepted"`
	Throttled int     `json:"refused"`       // by the API or DynamoDB
	Early     int     `json:"refused_early"` // rejected before a function ran, by Lambda's concurrency or API Gateway
	Other     int     `json:"other"`         // other errors; some of these calls may have been applied
	Calm      float64 `json:"calm_s"`        // from this second on, each accepted 99 % or more; -1 for never
	P50       float64 `json:"p50_ms"`        // of all response times
	P99       float64 `json:"p99_ms"`
	Longest   float64 `json:"longest_ms"`
	// Others counts Other by status or error.
	Others map[string]int `json:"others,omitempty"`
}

// failedShare returns the share of calls that were not accepted, in percent.
func (o Offered) failedShare() float64 {
	return 100 * float64(o.Offered-o.Accepted) / float64(max(1, o.Offered))
}

// outcomes collects the results of calls, by the second in which they began.
type outcomes struct {
	mu      sync.Mutex
	sum     Offered
	seconds []second
	took    []time.Duration
}

type second struct{ offered, accepted int }

func newOutcomes(lasting time.Duration) *outcomes {
	return &outcomes{seconds: make([]second, max(1, int(math.Ceil(lasting.Seconds()))))}
}

// addAnswer adds the result of a call. after is its start, measured from the first call's.
func (o *outcomes) addAnswer(after time.Duration, a answer, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := &o.seconds[min(int(after.Seconds()), len(o.seconds)-1)]
	s.offered++
	o.sum.Offered++
	o.took = append(o.took, a.took)
	switch {
	case err != nil:
		o.other(kindOf(err))
	case a.status == http.StatusOK:
		s.accepted++
		o.sum.Accepted++
	case a.early:
		o.sum.Early++
	case a.status == http.StatusTooManyRequests:
		o.sum.Throttled++
	default:
		o.other(fmt.Sprint("status ", a.status))
	}
}

func (o *outcomes) other(what string) {
	o.sum.Other++
	if o.sum.Others == nil {
		o.sum.Others = map[string]int{}
	}
	o.sum.Others[what]++
}

// kindOf returns the class under which an error is counted.
func kindOf(err error) string {
	if _, ok := errors.AsType[*ceilingError](err); ok {
		return "not sent, because of the ceiling"
	}
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return "no answer in time"
	}
	return "no readable answer"
}

// total returns the sums after all calls have ended.
func (o *outcomes) total() Offered {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, s := range o.seconds {
		if (s.offered-s.accepted)*100 > s.offered {
			o.sum.Calm = float64(i + 1)
		}
	}
	if int(o.sum.Calm) == len(o.seconds) {
		o.sum.Calm = -1
	}
	o.sum.P50, o.sum.P99, o.sum.Longest = spread(o.took)
	return o.sum
}

// spread returns the median, the 99th percentile and the maximum, in milliseconds.
func spread(took []time.Duration) (p50, p99, longest float64) {
	if len(took) == 0 {
		return 0, 0, 0
	}
	slices.Sort(took)
	at := func(part float64) float64 {
		return float64(took[min(len(took)-1, int(part*float64(len(took))))].Microseconds()) / 1000
	}
	return at(0.5), at(0.99), at(1)
}

// tick is the interval at which due calls are started.
const tick = 2 * time.Millisecond

// maxInFlight is the maximum number of calls in flight; further calls wait.
const maxInFlight = 20_000

// offer starts calls at a rate for a time, and returns when all have ended.
func offer(ctx context.Context, rate float64, lasting time.Duration, do func(ctx context.Context, n int, after time.Duration)) {
	var inFlight sync.WaitGroup
	slots := make(chan struct{}, maxInFlight)
	begin, n := time.Now(), 0
	for {
		after := time.Since(begin)
		for due := int(rate * min(after, lasting).Seconds()); n < due && ctx.Err() == nil; n++ {
			slots <- struct{}{}
			number := n
			inFlight.Go(func() {
				defer func() { <-slots }()
				do(ctx, number, time.Since(begin))
			})
		}
		if after >= lasting || !dynamo.Pause(ctx, tick) {
			break
		}
	}
	inFlight.Wait()
}
