package load

import (
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/workload"
)

// identity tells an entity's events apart.
type identity struct {
	id    string
	milli int64 // Unix milliseconds
}

func identityOf(r workload.Request) identity { return identity{r.ID, r.Time.UnixMilli()} }

// sent is an event that was sent.
type sent struct {
	data  workload.Data
	state state
}

// tally is what was sent to one counter.
type tally struct {
	before   int64 // its value before the load
	accepted int64 // sum of accepted increments
	unknown  int64 // sum of increments whose answer was lost
}

// ledger keeps what was sent and what became of it. It is safe for concurrent
// use.
type ledger struct {
	mu                sync.Mutex
	detailed          bool // keep counters and events, not only the numbers
	counters          map[string]*tally
	events            map[string]map[identity]sent // by entity
	requests          int
	accepted, unknown int
	rejected          int
}

func newLedger(detailed bool) *ledger {
	return &ledger{detailed: detailed, counters: map[string]*tally{}, events: map[string]map[identity]sent{}}
}

// before enters a counter's value before the load.
func (l *ledger) before(counter string, value int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tally(counter).before = value
}

func (l *ledger) tally(counter string) *tally {
	t := l.counters[counter]
	if t == nil {
		t = &tally{}
		l.counters[counter] = t
	}
	return t
}

// increment enters what became of an increment.
func (l *ledger) increment(counter string, delta int64, s state) {
	if !l.detailed {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch t := l.tally(counter); s {
	case accepted:
		t.accepted += delta
	case unknown:
		t.unknown += delta
	}
}

// event enters what became of a request's event.
func (l *ledger) event(r workload.Request, s state) {
	if !l.detailed {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	events := l.events[r.Entity()]
	if events == nil {
		events = map[identity]sent{}
		l.events[r.Entity()] = events
	}
	events[identityOf(r)] = sent{data: r.Data(), state: s}
}

// request enters what became of a request: the worse of its two halves.
func (l *ledger) request(event, increment state) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests++
	switch {
	case event == rejected || increment == rejected:
		l.rejected++
	case event == unknown || increment == unknown:
		l.unknown++
	default:
		l.accepted++
	}
}

// span is the time from an entity's first event to its last, both included.
type span struct{ first, last time.Time }

func (s span) with(t time.Time) span {
	if s.first.IsZero() || t.Before(s.first) {
		s.first = t
	}
	if s.last.IsZero() || t.After(s.last) {
		s.last = t
	}
	return s
}

// spans returns each entity's.
func (l *ledger) spans() map[string]span {
	l.mu.Lock()
	defer l.mu.Unlock()
	spans := map[string]span{}
	for entity, events := range l.events {
		for e := range events {
			spans[entity] = spans[entity].with(time.UnixMilli(e.milli).UTC())
		}
	}
	return spans
}
