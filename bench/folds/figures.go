package folds

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"
)

// figure is one of a run's, named by its line in the report.
type figure string

const (
	increments     figure = "increments sent"
	keyed          figure = "  in keyed calls, all applied once"
	accepted       figure = "  unkeyed and accepted"
	unanswered     figure = "  unkeyed, in calls without an answer"
	refusedInAll   figure = "  unkeyed and refused"
	events         figure = "events sent, in calls of their own"
	eventsKeyed    figure = "  of events, in keyed calls, all applied once"
	eventsAgain    figure = "  sent again on purpose"
	eventsAccepted figure = "  accepted"
	eventItems     figure = "events in the table, each once"
	eventsRestated figure = "  put again with other data"
	calls          figure = "calls of the API, distinct"
	sends          figure = "calls of the API, sent"
	writes         figure = "writes of ingest that were applied"
	extra          figure = "updates applied again after a lost answer"
	batches        figure = "batches of the mappings"
	deliveries     figure = "deliveries to the aggregator"
	applied        figure = "folds that were applied"
	streamShards   figure = "stream shards"
	compared       figure = "counters compared"
	removedShards  figure = "  write shards of theirs that were removed"
	buckets        figure = "event rollups compared"
	merged         figure = "  parts of theirs that were merged"
	lost           figure = "records lost in gaps, by two mappings"
	found          figure = "  rollups that an audit did not take for right"
	rebuilt        figure = "  rebuilt under load"
	rebuiltAtRest  figure = "targets rebuilt in the end"
	replayed       figure = "failures replayed"
	poisonRecords  figure = "poison records, all in the failure destination"
	differences    figure = "differences"
)

// printed are the figures in the report's order, but for the last.
var printed = []figure{
	increments, keyed, accepted, unanswered, refusedInAll, events, eventsKeyed, eventsAgain, eventsAccepted, eventItems, eventsRestated,
	calls, sends, writes, extra, batches, deliveries, applied, streamShards, compared, removedShards, buckets, merged,
	lost, found, rebuilt, rebuiltAtRest, replayed, poisonRecords,
}

// ledger counts.
type ledger[K ~string] struct {
	mu sync.Mutex
	n  map[K]int
}

func (l *ledger[K]) add(k K, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n == nil {
		l.n = map[K]int{}
	}
	l.n[k] += n
}

func (l *ledger[K]) of(k K) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n[k]
}

// sum adds up all that was counted.
func (l *ledger[K]) sum() (sum int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range l.n {
		sum += n
	}
	return sum
}

// addAll adds another ledger's counts; its run is over.
func (l *ledger[K]) addAll(o *ledger[K]) {
	for k, n := range o.n {
		l.add(k, n)
	}
}

// report is what a run, or several, came to.
type report struct {
	figures     ledger[figure]
	faults      ledger[fault] // that were injected
	description []string      // of the first differences
}

func (r *report) print(w io.Writer, took time.Duration) {
	row := func(name string, n any) { fmt.Fprintf(w, "%-50s %10v\n", name, n) }
	fmt.Fprintln(w)
	for _, f := range printed {
		row(string(f), r.figures.of(f))
	}
	row("seconds", fmt.Sprintf("%.0f", took.Seconds()))
	fmt.Fprintln(w)
	for _, f := range slices.Sorted(maps.Keys(r.faults.n)) {
		row(string(f), r.faults.of(f))
	}
	row("faults injected", r.faults.sum())
	fmt.Fprintln(w)
	row(string(differences), r.figures.of(differences))
}
