package folds

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Figures that are asked for by name. All others are named where they are counted.
const (
	incrementsSent  = "increments: sent"
	incrementsKeyed = "increments: in keyed calls, all applied once"
	eventsSent      = "events: sent, in calls of their own"
	eventsKeyed     = "events: in keyed calls, all applied once"
	eventsFound     = "events: in the table, each once"
	rollupsCompared = "events: rollups compared"
	folded          = "folds: applied"
	recordsLost     = "gaps: records lost, by two mappings"
	auditsFound     = "gaps: rollups that an audit did not take for right"
	rebuiltInLoad   = "gaps: rebuilt under load"
	rebuiltAtRest   = "gaps: targets rebuilt in the end"
	differences     = "differences"
)

// report is what a run, or several, came to. It is safe for many goroutines.
type report struct {
	mu        sync.Mutex
	n         map[string]int // figures and faults by their name
	described []string       // the first differences
}

const (
	faultPrefix  = "fault: "
	maxDescribed = 20
)

func (r *report) count(what string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n == nil {
		r.n = map[string]int{}
	}
	r.n[what] += n
}

// inject counts a fault that was injected.
func (r *report) inject(f fault) { r.count(faultPrefix+string(f), 1) }

// differ counts a difference.
func (r *report) differ(format string, args ...any) {
	r.count(differences, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.described) < maxDescribed {
		r.described = append(r.described, fmt.Sprintf(format, args...))
	}
}

func (r *report) of(what string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n[what]
}

// faults is how many were injected.
func (r *report) faults() (sum int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for what, n := range r.n {
		if strings.HasPrefix(what, faultPrefix) {
			sum += n
		}
	}
	return sum
}

// addAll adds another report, whose run is over.
func (r *report) addAll(o *report) {
	for what, n := range o.n {
		r.count(what, n)
	}
}

func (r *report) print(w io.Writer) {
	row := func(what string, n int) { fmt.Fprintf(w, "%-70s %10d\n", what, n) }
	fmt.Fprintln(w)
	for _, what := range slices.Sorted(maps.Keys(r.n)) {
		if what != differences {
			row(what, r.of(what))
		}
	}
	row("faults injected", r.faults())
	row(differences, r.of(differences))
}
