package prove

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/dynamo"
)

// Offered says what became of what was offered, each begun when it was due, whatever became of
// those before.
type Offered struct {
	Offered  int     `json:"offered"`
	Accepted int     `json:"accepted"`
	Refused  int     `json:"refused"`       // for want of capacity, by the API or DynamoDB
	Early    int     `json:"refused_early"` // before a function had it: by Lambda's concurrency or API Gateway
	Other    int     `json:"other"`         // of which some may have been done
	Calm     float64 `json:"calm_s"`        // from when on, in whole seconds, at most 1 % were not accepted; -1 for never
	P50      float64 `json:"p50_ms"`        // of how long answers took, refusals too
	P99      float64 `json:"p99_ms"`
	Longest  float64 `json:"longest_ms"`
	// Others are those of Other, by status or error.
	Others map[string]int `json:"others,omitempty"`
}

// refusedShare is the share of what was not accepted, in percent.
func (o Offered) refusedShare() float64 {
	return 100 * float64(o.Offered-o.Accepted) / float64(max(1, o.Offered))
}

// outcomes gathers what becomes of calls, by the second in which they were begun.
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

// add notes a call that was begun some time after the first.
func (o *outcomes) add(after time.Duration, a answer, err error) {
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
		o.sum.Refused++
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

// kindOf is an error in so few forms that they can be counted.
func kindOf(err error) string {
	if _, ok := errors.AsType[*ceilingError](err); ok {
		return "not sent, because of the ceiling"
	}
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	if timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err); ok && timeout.Timeout() {
		return "no answer in time"
	}
	return "no answer that could be read"
}

// total sums up, when all calls are over.
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

// spread returns the median, the slowest of a hundred and the longest, in milliseconds.
func spread(took []time.Duration) (p50, p99, longest float64) {
	if len(took) == 0 {
		return 0, 0, 0
	}
	slices.SortFunc(took, func(a, b time.Duration) int { return cmp.Compare(a, b) })
	at := func(part float64) float64 {
		return float64(took[min(len(took)-1, int(part*float64(len(took))))].Microseconds()) / 1000
	}
	return at(0.5), at(0.99), at(1)
}

// tick is how often it is looked what is due.
const tick = 2 * time.Millisecond

// maxUnderWay bounds the calls that wait for an answer; what is due beyond waits, too.
const maxUnderWay = 20_000

// offer begins calls at a rate for a time, and returns when all are answered.
func offer(ctx context.Context, rate float64, lasting time.Duration, do func(ctx context.Context, n int, after time.Duration)) {
	var under sync.WaitGroup
	room := make(chan struct{}, maxUnderWay)
	begin, n := time.Now(), 0
	for {
		after := time.Since(begin)
		for due := int(rate * min(after, lasting).Seconds()); n < due && ctx.Err() == nil; n++ {
			room <- struct{}{}
			number := n
			under.Go(func() {
				defer func() { <-room }()
				do(ctx, number, time.Since(begin))
			})
		}
		if after >= lasting || !dynamo.Pause(ctx, tick) {
			break
		}
	}
	under.Wait()
}
