package erase_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/fold/erase"
)

// TestUnfoldedBoard checks that a delete reports an unfolded board as left until the aggregator has caught
// up. A second run, which finds no entries, does so too.
func TestUnfoldedBoard(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.submitAt(t, "game", 5, 1, time.Now())
	o := r.options()
	o.Wait = time.Second
	for i, want := range []int{5, 0} {
		report, err := erase.New(o, r.db).Key(t.Context(), base(kind.Board, "game"))
		if err != nil || report.Deleted[erase.Entries] != want || len(report.Left) != 1 || !strings.Contains(report.Left[0], "did not come through the stream") {
			t.Errorf("run %d: %+v, %v; want %d entries deleted and the markers left", i+1, report, err, want)
		}
	}
	stop := r.run(t, false)
	defer stop()
	report := r.erase(t, base(kind.Board, "game"))
	if report.Deleted[erase.Settings] != 1 {
		t.Errorf("after the folds: %+v, want one setting deleted", report)
	}
	stop()
	r.wantNothing(t, "game", "at the end")
}
