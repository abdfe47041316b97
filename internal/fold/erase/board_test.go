package erase_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/fold/erase"
)

// TestABoardThatWasNeverFolded has no summaries, and will have some when the aggregator
// catches up. The delete is not done before that, also when it is called again and finds
// no entries.
func TestABoardThatWasNeverFolded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.submitAt(t, "game", 5, 1, time.Now())
	o := r.options()
	o.Wait = time.Second
	for i, want := range []int{5, 0} {
		report, err := r.eraser(t, r.db, o).Key(t.Context(), base(kind.Board, "game"))
		if err != nil || report.Deleted[erase.Entries] != want || len(report.Left) != 1 || !strings.Contains(report.Left[0], "did not come through the stream") {
			t.Errorf("run %d: %+v, %v", i+1, report, err)
		}
	}
	stop := r.run(t, false)
	defer stop()
	report := r.erase(t, base(kind.Board, "game"))
	if report.Deleted[erase.Settings] != 1 {
		t.Errorf("%+v", report)
	}
	stop()
	if left := r.leftovers(t, "game"); len(left) > 0 {
		t.Errorf("left:\n%s", strings.Join(left, "\n"))
	}
}
