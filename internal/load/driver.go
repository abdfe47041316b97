package load

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/workload"
)

// driver is one load.
type driver struct {
	Options
	api    *api
	ledger *ledger
	meter  *meter
	run    string // tells this load's keys from those of others
	calls  atomic.Int64
}

func newDriver(o Options) *driver {
	return &driver{
		Options: o,
		api:     newAPI(o),
		ledger:  newLedger(o.Verify),
		meter:   &meter{},
		run:     rand.Text(),
	}
}

// send writes a batch through the API: its events in one call, then its
// increments in another, then its scores.
func (d *driver) send(ctx context.Context, batch []workload.Request) error {
	stamp(batch)
	writes := []func(context.Context, []workload.Request) ([]state, error){d.putEvents, d.addCounts}
	if d.Board != "" {
		writes = append(writes, d.submitScores)
	}
	became := make([][]state, len(batch))
	for _, write := range writes {
		states, err := write(ctx, batch)
		if err != nil {
			return err
		}
		for i, s := range states {
			became[i] = append(became[i], s)
		}
	}
	for _, states := range became {
		d.ledger.request(states)
	}
	d.Progress(len(batch))
	return nil
}

// stamp gives the present as their time to requests that have none.
func stamp(batch []workload.Request) {
	now := time.Now().UTC().Truncate(time.Millisecond)
	for i := range batch {
		if batch[i].Time.IsZero() {
			batch[i].Time = now
		}
	}
}

type event struct {
	Entity string        `json:"entity"`
	ID     string        `json:"id"`
	Time   time.Time     `json:"time"`
	Data   workload.Data `json:"data"`
}

func (d *driver) putEvents(ctx context.Context, batch []workload.Request) ([]state, error) {
	states, err := d.deliver(ctx, delivery{
		path: "/v1/events", again: true, items: len(batch),
		body: func(pending []int) any {
			events := make([]event, len(pending))
			for i, at := range pending {
				r := batch[at]
				events[i] = event{Entity: r.Entity(), ID: r.ID, Time: r.Time, Data: r.Data()}
			}
			return map[string]any{"events": events}
		},
	})
	for i, r := range batch {
		d.ledger.event(r, states[i])
	}
	return states, err
}

type increment struct {
	Counter string `json:"counter"`
	Delta   int64  `json:"delta"`
}

// sum returns one increment for each of the batch's counters.
func sum(batch []workload.Request) []increment {
	var sums []increment
	at := map[string]int{}
	for _, r := range batch {
		i, ok := at[r.Counter()]
		if !ok {
			i = len(sums)
			at[r.Counter()] = i
			sums = append(sums, increment{Counter: r.Counter()})
		}
		sums[i].Delta++
	}
	return sums
}

// addCounts sends the batch's increments, and returns what became of each
// request's.
func (d *driver) addCounts(ctx context.Context, batch []workload.Request) ([]state, error) {
	sums := sum(batch)
	states, err := d.sendIncrements(ctx, sums)
	became := make(map[string]state, len(sums))
	for i, s := range sums {
		became[s.Counter] = states[i]
		d.ledger.increment(s.Counter, s.Delta, states[i])
	}
	each := make([]state, len(batch))
	for i, r := range batch {
		each[i] = became[r.Counter()]
	}
	return each, err
}

func (d *driver) sendIncrements(ctx context.Context, sums []increment) ([]state, error) {
	return d.deliver(ctx, delivery{
		path: "/v1/counters", key: d.callKey(), again: d.Keyed, items: len(sums),
		body: func(pending []int) any {
			left := make([]increment, len(pending))
			for i, at := range pending {
				left[i] = sums[at]
			}
			return map[string]any{"increments": left}
		},
	})
}

// callKey returns an Idempotency-Key that no call had, or none without Keyed.
func (d *driver) callKey() string {
	if !d.Keyed {
		return ""
	}
	return fmt.Sprintf("load-%s-%d", d.run, d.calls.Add(1))
}

// pump hands batches to workers, rate requests a second (0: as they can take
// them), until there are no more or something fails.
func pump(ctx context.Context, workers int, rate float64, batches iter.Seq2[[]workload.Request, error],
	send func(context.Context, []workload.Request) error) error {
	group, ctx := errgroup.WithContext(ctx)
	queue := make(chan []workload.Request)
	group.Go(func() error {
		defer close(queue)
		return feed(ctx, rate, batches, queue)
	})
	for range workers {
		group.Go(func() error {
			for batch := range queue {
				if err := send(ctx, batch); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func feed(ctx context.Context, rate float64, batches iter.Seq2[[]workload.Request, error], queue chan<- []workload.Request) error {
	begin, fed := time.Now(), 0
	for batch, err := range batches {
		if err != nil {
			return err
		}
		if rate > 0 {
			due := begin.Add(time.Duration(float64(fed) / rate * float64(time.Second)))
			if err := sleep(ctx, time.Until(due)); err != nil {
				return err
			}
		}
		fed += len(batch)
		select {
		case queue <- batch:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// chunks cuts a sequence of requests into slices of n, which are not used again.
func chunks(requests iter.Seq2[workload.Request, error], n int) iter.Seq2[[]workload.Request, error] {
	return func(yield func([]workload.Request, error) bool) {
		var chunk []workload.Request
		for r, err := range requests {
			if err != nil {
				yield(nil, err)
				return
			}
			if chunk = append(chunk, r); len(chunk) == n {
				if !yield(chunk, nil) {
					return
				}
				chunk = nil
			}
		}
		if len(chunk) > 0 {
			yield(chunk, nil)
		}
	}
}
