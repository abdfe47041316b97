package erase

import (
	"fmt"
	"sync"
)

// Report has the traces that were deleted or, after a dry run, that exist.
type Report struct {
	// Deleted counts the deleted items by kind of trace: see the What constants.
	Deleted map[What]int `json:"deleted"`
	// Kept lists the items that were written meanwhile and found.
	Kept []string `json:"kept"`
	// Left lists what is not done, why, and what to do about it; mostly, to call again later.
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

// tally is a report in the making. It is safe for concurrent use.
type tally struct {
	mu     sync.Mutex
	report Report
	again  bool // something is left for another call of the delete
}

func newTally() *tally {
	return &tally{report: Report{Deleted: map[What]int{}, Kept: []string{}, Left: []string{}}}
}

// left adds something that needs another call of the delete.
func (t *tally) left(format string, args ...any) {
	t.leftTo(format, args...)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.again = true
}

// leftTo adds something that is left and needs other means.
func (t *tally) leftTo(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.Left = append(t.report.Left, fmt.Sprintf(format, args...))
}

// kept adds something that was written meanwhile.
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
