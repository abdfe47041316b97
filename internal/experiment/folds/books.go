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
	want   map[string]int64 // of counters
	events map[identity]*event
	totals totals
	shown  []string
}

// totals are the figures of a run, or of several.
type totals struct {
	Increments int // sent
	Keyed      int // of them, in keyed calls
	Accepted   int // unkeyed ones that were
	Unanswered int // unkeyed ones whose process died
	Calls      int
	Extra      int // updates applied once more than they were asked for
	Sends      int64
	Writes     int64 // applied, of ingest
	Folds      int64 // applied, of the aggregators
	Deliveries int64 // to the aggregators
	Batches    int64 // of the mappings
	Shards     int   // stream shards
	Counters   int
	Removed    int // write shards of counters
	Poison     int // records

	Events         int // sent, in calls of their own
	EventsAgain    int // of them, sent in an earlier call, too
	EventsKeyed    int // of them, in keyed calls
	EventsAccepted int
	EventItems     int // in the table
	EventsRestated int
	Buckets        int   // event rollups
	Merged         int64 // parts of them

	Lost          int   // records in gaps, by all mappings
	Found         int64 // rollups that an audit did not take for right after a gap
	Rebuilt       int64 // of them, under load
	RebuiltAtRest int64 // targets
	Replayed      int64 // failures

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
	t.Shards += o.Shards
	t.Counters += o.Counters
	t.Removed += o.Removed
	t.Poison += o.Poison
	t.Events += o.Events
	t.EventsAgain += o.EventsAgain
	t.EventsKeyed += o.EventsKeyed
	t.EventsAccepted += o.EventsAccepted
	t.EventItems += o.EventItems
	t.EventsRestated += o.EventsRestated
	t.Buckets += o.Buckets
	t.Merged += o.Merged
	t.Lost += o.Lost
	t.Found += o.Found
	t.Rebuilt += o.Rebuilt
	t.RebuiltAtRest += o.RebuiltAtRest
	t.Replayed += o.Replayed
	t.Differences += o.Differences
}

// differ notes a difference. The caller holds mu.
func (b *books) differ(format string, args ...any) {
	b.totals.Differences++
	if len(b.shown) < maxShown {
		b.shown = append(b.shown, fmt.Sprintf(format, args...))
	}
}

// found is differ for those who don't hold mu.
func (b *books) found(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.differ(format, args...)
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
func (b *books) settle(counter string, total int64, o *outcome, said fate, answered bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	most := o.lost
	if said == added || !answered {
		most++ // for the answer that was given, or for the one that was not
	}
	if said == refused && o.applied > 0 {
		b.differ("counter %s: %d was refused and added %d times", counter, total, o.applied)
	}
	if said == added && o.applied == 0 && total != 0 {
		b.differ("counter %s: %d was accepted and not added", counter, total)
	}
	if o.applied > most {
		b.differ("counter %s: %d was added %d times with %d answers lost", counter, total, o.applied, o.lost)
	}
	if o.sum != int64(o.applied)*total {
		b.differ("counter %s: %d was added instead of %d times %d", counter, o.sum, o.applied, total)
	}
	if said == added {
		b.totals.Extra += max(0, o.applied-1)
	}
	b.want[counter] += o.sum
}

// keyed books a keyed call that was answered. Its transaction must have been
// applied once.
func (b *books) keyed(made call, transactions int) {
	b.once(made.key, transactions)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.totals.Calls++
	b.totals.Increments += made.size
	b.totals.Keyed += made.size
	for counter, total := range made.totals {
		b.want[counter] += total
	}
}

// once wants a keyed call's transaction to have been applied once.
func (b *books) once(key string, transactions int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if transactions != 1 {
		b.differ("call %s was applied %d times", key, transactions)
	}
}

// removed books that a counter's write shard was removed.
func (b *books) removed(counter string, value int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.totals.Removed++
	b.want[counter] -= value
}
