package rebuild

import (
	"fmt"
	"sync"
)

// Erased is the report of a delete.
type Erased struct {
	// Deleted has the number of deleted items by kind.
	Deleted map[Trace]int `json:"deleted"`
	// Kept lists the items that were written during the call, and not deleted.
	Kept []string `json:"kept"`
	// Left lists what was not deleted, why, and what to do: mostly, to run the delete again later.
	Left []string `json:"left"`
}

// Trace is a kind of items that belong to a key.
type Trace string

// The kinds of items.
const (
	Events      Trace = "events"
	WriteShards Trace = "write shards" // of a counter
	Entries     Trace = "entries"      // of a board, with their places in the index
	Sessions    Trace = "sessions"
	Windows     Trace = "windows"     // of a limit
	Others      Trace = "other items" // probes, stream markers
	Settings    Trace = "settings"    // of a board
	Summaries   Trace = "summaries"
	Failures    Trace = "failures"
	ShardCounts Trace = "shard counts"
)

// tally builds a report. It is safe for concurrent use.
type tally struct {
	mu         sync.Mutex
	report     Erased
	needsRerun bool // another run of the delete is needed
}

func newTally() *tally {
	return &tally{report: Erased{Deleted: map[Trace]int{}, Kept: []string{}, Left: []string{}}}
}

// reportLeft adds a text to Left about something that another run of the delete can delete.
func (t *tally) reportLeft(format string, args ...any) {
	t.reportLeftForRepair(format, args...)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.needsRerun = true
}

// reportLeftForRepair adds a text to Left about something that another run of the delete can't delete.
func (t *tally) reportLeftForRepair(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.Left = append(t.report.Left, fmt.Sprintf(format, args...))
}

// reportKept adds a text to Kept.
func (t *tally) reportKept(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.Kept = append(t.report.Kept, fmt.Sprintf(format, args...))
}

func (t *tally) countDeleted(what Trace, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n > 0 {
		t.report.Deleted[what] += n
	}
}
