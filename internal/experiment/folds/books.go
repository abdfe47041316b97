package main

import (
	"fmt"
	"sync"
)

// maxShown bounds the differences that are described; all are counted.
const maxShown = 20

// books hold what the counters must have, and the differences found.
type books struct {
	mu     sync.Mutex
	want   map[string]int64
	totals totals
	shown  []string
}

// totals are the figures of a run, or of several.
type totals struct {
	Increments  int // sent
	Keyed       int // of them, in keyed calls
	Accepted    int // unkeyed ones that were
	Unanswered  int // unkeyed ones whose process died
	Calls       int
	Extra       int // updates applied once more than they were asked for
	Sends       int64
	Writes      int64 // applied, of ingest
	Folds       int64 // applied, of the aggregators
	Deliveries  int64 // to the aggregators
	Batches     int64 // of the mappings
	GivenUp     int   // poison records that mappings gave up
	Shards      int   // stream shards
	Counters    int
	Differences int
}

func (t *totals) add(o totals) {
	t.Increments += o.Increments
	t.Keyed += o.Keyed
	t.Accepted += o.Accepted
	t.Unanswered += o.Unanswered
	t.Calls += o.Calls
	t.Extra += o.Extra
	t.Sends += o.Sends
	t.Writes += o.Writes
	t.Folds += o.Folds
	t.Deliveries += o.Deliveries
	t.Batches += o.Batches
	t.GivenUp += o.GivenUp
	t.Shards += o.Shards
	t.Counters += o.Counters
	t.Differences += o.Differences
}

// differ notes a difference. The caller holds mu.
func (b *books) differ(format string, args ...any) {
	b.totals.Differences++
	if len(b.shown) < maxShown {
		b.shown = append(b.shown, fmt.Sprintf(format, args...))
	}
}

func (b *books) unkeyed(made call, accepted int, answered bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.totals.Calls++
	b.totals.Increments += made.size
	b.totals.Accepted += accepted
	if !answered {
		b.totals.Unanswered += made.size
	}
}

// settle books what an unkeyed call did to a counter, if that is allowed.
func (b *books) settle(counter string, total int64, o *outcome, accepted, answered bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	most := o.lost
	if accepted || !answered {
		most++ // for the answer that was given, or for the one that was not
	}
	if accepted && o.applied == 0 && total != 0 {
		b.differ("counter %s: %d was accepted and not added", counter, total)
	}
	if o.applied > most {
		b.differ("counter %s: %d was added %d times with %d answers lost", counter, total, o.applied, o.lost)
	}
	if o.sum != int64(o.applied)*total {
		b.differ("counter %s: %d was added instead of %d times %d", counter, o.sum, o.applied, total)
	}
	if accepted {
		b.totals.Extra += max(0, o.applied-1)
	}
	b.want[counter] += o.sum
}

// keyed books a keyed call that was answered. Its transaction must have been
// applied once.
func (b *books) keyed(made call, transactions int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.totals.Calls++
	b.totals.Increments += made.size
	b.totals.Keyed += made.size
	if transactions != 1 {
		b.differ("call %s was applied %d times", made.key, transactions)
	}
	for counter, total := range made.totals {
		b.want[counter] += total
	}
}
