package erase

import (
	"fmt"
	"sync"
)

// Report has the traces that were deleted or, after a dry run, that exist.
type Report struct {
	// Deleted counts the deleted items by kind of trace: see the What constants.
	Deleted map[What]int `json:"deleted"`
	// Kept lists the items that were written during the call, and not deleted.
	Kept []string `json:"kept"`
	// Left lists what was not deleted, why, and what to do: mostly, to run the delete again later.
	Left []string `json:"left"`
}

// What is a kind of trace.
type What string

// The kinds.
const (
	Events      What = "events"
	WriteShards What = "write shards" // of a counter
	Entries     What = "entries"      // of a board, with their places in the index
	Sessions    What = "sessions"
	Windows     What = "windows"     // of a limit
	Others      What = "other items" // probes, marks
	Settings    What = "settings"    // of a board
	Summaries   What = "summaries"
	Failures    What = "failures"
	ShardCounts What = "shard counts"
)

// tally builds a report. It is safe for concurrent use.
type tally struct {
	mu     sync.Mutex
	report Report
	again  bool // another run of the delete is needed
}

func newTally() *tally {
	return &tally{report: Report{Deleted: map[What]int{}, Kept: []string{}, Left: []string{}}}
}

// left adds a text to Left about something that another run of the delete can delete.
func (t *tally) left(format string, args ...any) {
	t.leftTo(format, args...)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.again = true
}

// leftTo adds a text to Left about something that another run of the delete can't delete.
func (t *tally) leftTo(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.Left = append(t.report.Left, fmt.Sprintf(format, args...))
}

// kept adds a text to Kept.
func (t *tally) kept(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.Kept = append(t.report.Kept, fmt.Sprintf(format, args...))
}

func (t *tally) deleted(what What, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n > 0 {
		t.report.Deleted[what] += n
	}
}
