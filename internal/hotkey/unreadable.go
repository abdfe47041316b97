package hotkey

import (
	"context"
	"time"

	"github.com/hotshard/hotshard/internal/ddbstream"
)

// unreadable is what a batch has of records that can't be counted. They hold up
// nothing: a detector that waits for one record to be given up is blind for as long,
// and has no record less to miss afterwards. Their windows are incomplete, so that
// nothing is proved by them.
type unreadable struct {
	records int
	first   error
}

// miss notes a record that could not be counted in the window in which it was made.
// It is false where that is not known.
func (t *tally) miss(rec *ddbstream.Record) bool {
	if rec.Created.IsZero() {
		return false
	}
	t.window(rec.Created).miss(string(rec.Sequence))
	return true
}

// missSomewhere notes a record that may be of any window: of all that the batch has
// to do with, or of the one at its handling.
func (t *tally) missSomewhere(sequence string, now time.Time) {
	if len(t.all()) == 0 {
		t.window(now)
	}
	for _, w := range t.all() {
		w.miss(sequence)
	}
}

func (w *window) miss(sequence string) {
	w.marks.incomplete = true
	if w.first == "" {
		w.first = sequence
	}
}

// tell reports what a batch has of them.
func (r *run) tell(ctx context.Context, u unreadable) {
	if u.records == 0 {
		return
	}
	r.deps.Log.ErrorContext(ctx, "records not counted", "records", u.records, "error", u.first)
	r.events("RecordsUnreadable", u.records)
}
