package erase

import (
	"fmt"
	"sync"
)

// Report is what was deleted, or, by a dry run, what there is.
type Report struct {
	// Deleted counts by what it was: see the What constants.
	Deleted map[What]int `json:"deleted"`
	// Kept says what was written meanwhile and is there, as far as it was met.
	Kept []string `json:"kept"`
	// Left says what is not done, why, and what to do about it; mostly, to call again
	// later.
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
	again  bool // something is left that the delete has to be called again for
}

func newTally() *tally {
	return &tally{report: Report{Deleted: map[What]int{}, Kept: []string{}, Left: []string{}}}
}

// left reports what the delete has to be called again for.
func (t *tally) left(format string, args ...any) {
	t.mend(format, args...)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.again = true
}

// mend reports what is left and is done by other means.
func (t *tally) mend(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.Left = append(t.report.Left, fmt.Sprintf(format, args...))
}

// kept reports what was written meanwhile.
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
