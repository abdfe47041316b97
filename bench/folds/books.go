package folds

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
	report *report
}

func (b *books) count(f figure, n int) { b.report.figures.add(f, n) }

// differ notes a difference. The caller holds mu.
func (b *books) differ(format string, args ...any) {
	b.count(differences, 1)
	if r := b.report; len(r.description) < maxShown {
		r.description = append(r.description, fmt.Sprintf(format, args...))
	}
}

// found is differ for those who don't hold mu.
func (b *books) found(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.differ(format, args...)
}

func (b *books) unkeyed(made call, taken int, answered bool) {
	b.count(calls, 1)
	b.count(increments, made.size)
	b.count(accepted, taken)
	if answered {
		b.count(refusedInAll, made.size-taken)
	} else {
		b.count(unanswered, made.size)
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
		b.count(extra, max(0, o.applied-1))
	}
	b.want[counter] += o.sum
}

// keyed books a keyed call that was answered. Its transaction must have been
// applied once.
func (b *books) keyed(made call, transactions int) {
	b.once(made.key, transactions)
	b.count(calls, 1)
	b.count(increments, made.size)
	b.count(keyed, made.size)
	b.mu.Lock()
	defer b.mu.Unlock()
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
	b.count(removedShards, 1)
	b.want[counter] -= value
}
