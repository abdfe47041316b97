package load

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"time"
)

// sender writes batches of requests and records their outcomes. It is safe for concurrent use.
type sender struct {
	api    *api
	ledger *ledger
	keyed  bool

	countersOnly bool

	run     string       // distinguishes this load's Idempotency-Keys from other loads'
	calls   atomic.Int64 // number of keys so far
	retries atomic.Int64 // repeated calls
}

func newSender(o Options, a *api, l *ledger) *sender {
	return &sender{api: a, ledger: l, keyed: o.Keyed, countersOnly: o.CountersOnly, run: rand.Text()}
}

// send writes a batch through the API: its events in one call, its increments in another.
func (s *sender) send(ctx context.Context, batch []Request) error {
	stamp(batch)
	writes := []func(context.Context, []Request) ([]state, error){s.putEvents, s.addCounts}
	if s.countersOnly {
		writes = writes[1:]
	}
	became := make([][]state, len(batch))
	for _, write := range writes {
		states, err := write(ctx, batch)
		if err != nil {
			return err
		}
		for i, state := range states {
			became[i] = append(became[i], state)
		}
	}
	for _, states := range became {
		s.ledger.request(states)
	}
	return nil
}

// stamp sets the time of requests without one to now.
func stamp(batch []Request) {
	now := time.Now().UTC().Truncate(time.Millisecond)
	for i := range batch {
		if batch[i].Time.IsZero() {
			batch[i].Time = now
		}
	}
}

type event struct {
	Entity string    `json:"entity"`
	ID     string    `json:"id"`
	Time   time.Time `json:"time"`
	Data   Data      `json:"data"`
}

func (s *sender) putEvents(ctx context.Context, batch []Request) ([]state, error) {
	items := make([]any, len(batch))
	for i, r := range batch {
		items[i] = event{Entity: r.Entity(), ID: r.ID, Time: r.Time, Data: r.Data()}
	}
	states, err := s.deliver(ctx, delivery{path: "/v1/events", idempotent: true, list: "events", items: items})
	for i, r := range batch {
		s.ledger.event(r, states[i])
	}
	return states, err
}

type increment struct {
	Counter string `json:"counter"`
	Delta   int64  `json:"delta"`
}

// sum returns one increment for each of the batch's counters.
func sum(batch []Request) []increment {
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

// addCounts sends the batch's increments, and returns each request's state.
func (s *sender) addCounts(ctx context.Context, batch []Request) ([]state, error) {
	sums := sum(batch)
	states, err := s.sendIncrements(ctx, sums)
	became := make(map[string]state, len(sums))
	for i, one := range sums {
		became[one.Counter] = states[i]
		s.ledger.increment(one.Counter, one.Delta, states[i])
	}
	each := make([]state, len(batch))
	for i, r := range batch {
		each[i] = became[r.Counter()]
	}
	return each, err
}

func (s *sender) sendIncrements(ctx context.Context, sums []increment) ([]state, error) {
	items := make([]any, len(sums))
	for i, one := range sums {
		items[i] = one
	}
	return s.deliver(ctx, delivery{path: "/v1/counters", key: s.callKey(), idempotent: s.keyed, list: "increments", items: items})
}

// callKey returns a new Idempotency-Key, or "" without Keyed.
func (s *sender) callKey() string {
	if !s.keyed {
		return ""
	}
	return fmt.Sprintf("load-%s-%d", s.run, s.calls.Add(1))
}
