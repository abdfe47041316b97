package load

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

// identity is what distinguishes an entity's events: id and time.
type identity struct {
	id    string
	milli int64 // Unix milliseconds
}

// sentEvent is an event that was sent.
type sentEvent struct {
	data  EventData
	state outcome
}

// tally sums what was sent to one counter.
type tally struct {
	before   int64 // its value before the load
	accepted int64 // sum of accepted increments
	unknown  int64 // sum of increments with an unknown outcome
}

// ledger records which writes were sent, and their outcomes. It is safe for concurrent use.
type ledger struct {
	mu       sync.Mutex
	detailed bool                              // whether events and counters are recorded, and not only numbers of requests
	counters map[string]*tally                 // by name
	events   map[string]map[identity]sentEvent // by entity

	requests, accepted, unknown, rejected int // numbers of requests
}

func newLedger(detailed bool) *ledger {
	return &ledger{
		detailed: detailed, counters: map[string]*tally{}, events: map[string]map[identity]sentEvent{},
	}
}

// setBefore sets a counter's value before the load.
func (l *ledger) setBefore(counter string, value int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tally(counter).before = value
}

// tally returns a counter's tally. It adds an empty tally for a new counter. The caller holds mu.
func (l *ledger) tally(counter string) *tally {
	t := l.counters[counter]
	if t == nil {
		t = &tally{}
		l.counters[counter] = t
	}
	return t
}

// addIncrement records an increment by 1 that was accepted or has an unknown outcome, if the ledger is detailed.
func (l *ledger) addIncrement(counter string, state outcome) {
	if !l.detailed {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch state {
	case accepted:
		l.tally(counter).accepted++
	case unknown:
		l.tally(counter).unknown++
	}
}

// bounds returns the bounds of the counter's expected value. They differ if outcomes are unknown.
func (t *tally) bounds() (low, high int64) {
	low = t.before + t.accepted
	return low, low + t.unknown
}

func boundsText(low, high int64) string {
	if low == high {
		return strconv.FormatInt(low, 10)
	}
	return fmt.Sprintf("%d to %d", low, high)
}

// addEvent records a request's event with its outcome, if the ledger is detailed.
func (l *ledger) addEvent(request Request, state outcome) {
	if !l.detailed {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	events := l.events[request.Entity()]
	if events == nil {
		events = map[identity]sentEvent{}
		l.events[request.Entity()] = events
	}
	events[identity{request.ID, request.Time.UnixMilli()}] = sentEvent{data: request.Data(), state: state}
}

// addRequest counts a request. Its outcome is the worst of its writes' outcomes: rejected, unknown, accepted.
func (l *ledger) addRequest(writes []outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests++
	switch {
	case slices.Contains(writes, rejected):
		l.rejected++
	case slices.Contains(writes, unknown):
		l.unknown++
	default:
		l.accepted++
	}
}

// span is the time from an entity's first event to its last, both included.
type span struct{ first, last time.Time }

// extendedTo returns the span with a time included. The zero value has no event.
func (s span) extendedTo(t time.Time) span {
	if s.first.IsZero() || t.Before(s.first) {
		s.first = t
	}
	if s.last.IsZero() || t.After(s.last) {
		s.last = t
	}
	return s
}

// spans returns the span of each entity's sent events.
func (l *ledger) spans() map[string]span {
	l.mu.Lock()
	defer l.mu.Unlock()
	spans := map[string]span{}
	for entity, events := range l.events {
		for e := range events {
			spans[entity] = spans[entity].extendedTo(time.UnixMilli(e.milli).UTC())
		}
	}
	return spans
}
