package dynamo_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
)

// outage is a DynamoDB, some of whose answers are 5xx, and some of which come too late. A write may be made nevertheless.
type outage struct {
	broken, slow float64 // shares of the attempts
	sum          bool    // the writes can't be repeated

	mu     sync.Mutex
	random *rand.Rand
	stored map[int]int // times that a write was made
	calls  int         // attempts
}

func (o *outage) attempt(ctx context.Context, id int) error {
	o.mu.Lock()
	o.calls++
	at, made := o.random.Float64(), o.random.IntN(2) == 0
	if at >= o.broken+o.slow || made {
		o.stored[id]++
	}
	o.mu.Unlock()
	switch {
	case at < o.broken:
		time.Sleep(5 * time.Millisecond)
		return &types.InternalServerError{}
	case at < o.broken+o.slow:
		ctx, cancel := context.WithTimeout(ctx, time.Second) // of the HTTP client
		defer cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	time.Sleep(5 * time.Millisecond)
	return nil
}

// brownOut runs a minute of 200 calls a second on up to 40 containers, each with its quota and one call at a time. It
// returns the calls to DynamoDB for each call that found a container, and checks that no accepted write is lost and that
// no sum counts twice.
func (o *outage) brownOut(t *testing.T, bounded bool) (factor float64) {
	const seconds, rate, containers = 60, 200, 40
	o.random, o.stored = rand.New(rand.NewPCG(1, 2)), map[int]int{}
	idle := make(chan context.Context, containers)
	for range containers {
		ctx := t.Context()
		if bounded {
			ctx = dynamo.NewQuota().Context(ctx)
		}
		idle <- ctx
	}
	persist := dynamo.Persist
	if o.sum {
		persist = dynamo.PersistSum
	}
	var group sync.WaitGroup
	var accepted, unavailable, busy, inUse atomic.Int64
	for id := range seconds * rate {
		time.Sleep(time.Second / rate)
		select {
		case container := <-idle:
			group.Go(func() {
				begin := time.Now()
				ctx, cancel := context.WithTimeout(container, 2*time.Second)
				defer cancel()
				err := persist(ctx, func(ctx context.Context) error { return o.attempt(ctx, id) })
				inUse.Add(int64(time.Since(begin)))
				idle <- container
				o.mu.Lock()
				defer o.mu.Unlock()
				switch n := o.stored[id]; {
				case err == nil && n == 0, o.sum && n > 1:
					t.Errorf("call %d: %v, and the write was made %d times", id, err, n)
				case err == nil:
					accepted.Add(1)
				case errors.Is(err, shard.ErrUnavailable):
					unavailable.Add(1)
				default:
					t.Errorf("call %d: %v", id, err)
				}
			})
		default:
			busy.Add(1)
		}
	}
	group.Wait()
	calls := accepted.Load() + unavailable.Load()
	factor = float64(o.calls) / float64(calls)
	t.Logf("%.0f %% 5xx, %.0f %% time-outs, sums %t, quota %t: %.2f calls to DynamoDB for each; accepted %.1f %%, unavailable %.1f %%, no container %.1f %%, %.1f containers in use",
		100*o.broken, 100*o.slow, o.sum, bounded, factor, 100*float64(accepted.Load())/(seconds*rate), 100*float64(unavailable.Load())/(seconds*rate),
		100*float64(busy.Load())/(seconds*rate), time.Duration(inUse.Load()).Seconds()/seconds)
	return factor
}

// TestBrownOutIsNotMultiplied checks that retries make at most 1.3 times the calls to DynamoDB in a minute of 5 % 5xx and
// 10 % time-outs on 40 containers, and few more while it answers hardly any call, which without a quota is many times
// the calls.
func TestBrownOutIsNotMultiplied(t *testing.T) {
	for _, c := range []struct {
		broken, slow float64
		sum          bool
		most         float64
	}{
		{0, 0, false, 1}, {0.05, 0.1, false, 1.3}, {0.05, 0.1, true, 1.3}, {0.95, 0, false, 1.5},
	} {
		synctest.Test(t, func(t *testing.T) {
			without := (&outage{broken: c.broken, slow: c.slow, sum: c.sum}).brownOut(t, false)
			if got := (&outage{broken: c.broken, slow: c.slow, sum: c.sum}).brownOut(t, true); got > c.most {
				t.Errorf("%+v: %.2f times the calls, want at most %v; without a quota %.2f", c, got, c.most, without)
			}
			if c.broken > 0.9 && without < 3 {
				t.Errorf("%+v: without a quota %.2f times the calls: this model shows nothing", c, without)
			}
		})
	}
}

// TestQuotaOfRetries checks what is free, and that an exhausted quota ends a call at once with its last error.
func TestQuotaOfRetries(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want int // attempts of a call with an exhausted quota
		kind error
	}{
		"throttled: the first retry is free": {libtest.Hot(), 2, shard.ErrThrottled},
		"broken":                             {&types.InternalServerError{}, 1, shard.ErrUnavailable},
		"timed out":                          {context.DeadlineExceeded, 1, shard.ErrUnavailable},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx := dynamo.NewQuota().Context(t.Context())
			call := func(results ...error) (attempts int, err error) {
				err = dynamo.Persist(ctx, func(context.Context) error {
					attempts++
					return results[min(attempts, len(results))-1]
				})
				return attempts, err
			}
			for range 100 { // 500 tokens, 5 or 10 for each retry
				if attempts, err := call(c.err, nil); attempts != 2 || err != nil {
					t.Fatalf("%s: %d attempts, %v: a successful retry costs nothing", name, attempts, err)
				}
			}
			for n := 0; ; n++ {
				attempts, err := call(c.err)
				if attempts == c.want && errors.Is(err, c.kind) {
					break
				}
				if n == 100 {
					t.Fatalf("%s: still %d attempts, %v", name, attempts, err)
				}
			}
			for range 10 { // calls without a retry pay for the next ones
				if _, err := call(nil); err != nil {
					t.Fatal(err)
				}
			}
			if attempts, _ := call(c.err); attempts <= c.want {
				t.Errorf("%s: %d attempts after successful calls, want more", name, attempts)
			}
		})
	}
}
