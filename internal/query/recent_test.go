package query

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/httpapi"
)

var _ foldedSource = (*foldingSource)(nil) // else its Progress is not read

// foldingSource is a source whose windows up to foldTo are folded right after the next Progress.
type foldingSource struct {
	liveHeat
	progress heat.Progress
	foldTo   time.Time
}

func (f *foldingSource) Progress(context.Context) (heat.Progress, error) {
	before := f.progress
	f.progress.To = heat.MaxTime(f.progress.To, f.foldTo)
	return before, nil
}

func (f *foldingSource) Windows(ctx context.Context, from, to time.Time, _ time.Duration) iter.Seq2[heat.Window, error] {
	return func(yield func(heat.Window, error) bool) {
		for window, err := range f.liveHeat.Windows(ctx, from, to, 0) {
			if window.Start.Before(f.progress.To) {
				window.Items = heat.FoldAll(window.Items, window.Start, 0)
			}
			if !yield(window, err) {
				return
			}
		}
	}
}

// unread is a source with an item that can't be read in each window.
type unread struct{ foldingSource }

func (u *unread) Windows(ctx context.Context, from, to time.Time, step time.Duration) iter.Seq2[heat.Window, error] {
	return func(yield func(heat.Window, error) bool) {
		for window, err := range u.foldingSource.Windows(ctx, from, to, step) {
			if window.Unreadable = make([]error, 1); !yield(window, err) {
				return
			}
		}
	}
}

// TestHottestKeysOfARange checks which windows the hottest keys are from: each since its start once, also open ones and
// those of clocks that are ahead. The current ones are in order.
func TestHottestKeysOfARange(t *testing.T) {
	begin := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	second := func(n int) time.Time { return begin.Add(time.Duration(n) * time.Second) }
	source := &unread{foldingSource{progress: heat.Progress{From: second(-600), To: second(40), Read: second(-600), Ran: second(60)}}}
	for n := -310; n <= 190; n += 10 {
		source.liveHeat = append(source.liveHeat, heat.Item{
			Start: second(n), Window: 10 * time.Second, StreamShard: "s", Limit: 1000, HotRate: 700, Units: 3, Records: 3,
			Keys: []heat.Key{{Key: fmt.Sprint("k", n), Units: uint64(1000 + n)}},
		})
	}
	h := NewHeat(source, HeatOptions{})
	for limit, want := range map[int]int{1: 1, 49: 49, 100: 49} {
		found, err := h.hottest(t.Context(), second(-300), second(126), limit)
		if err != nil || len(found.rows) != want || found.rows[0].Key != "k180" || want == 49 && found.rows[48].Key != "k-300" || found.unread != 49 {
			t.Errorf("at most %d: %+v, %v; want %d", limit, found, err, want)
		}
		var current []int
		for _, window := range found.current {
			current = append(current, int(window.Start.Sub(begin)/time.Second))
		}
		if !slices.Equal(current, []int{100, 110, 120, 130, 140, 150, 160, 170, 180}) {
			t.Errorf("the current windows begin at %v", current)
		}
	}
}

// TestAsOfStaysWhenWindowsAreFoldedInBetween checks that as_of does not go back if windows are folded between the reads of
// the progress and of the windows.
func TestAsOfStaysWhenWindowsAreFoldedInBetween(t *testing.T) {
	begin := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	second := func(n int) time.Time { return begin.Add(time.Duration(n) * time.Second) }
	now := second(126)
	source := &foldingSource{progress: heat.Progress{From: second(-600), To: second(40), Read: second(-600), Ran: second(60)}}
	for n := 0; n <= 110; n += 10 {
		source.liveHeat = append(source.liveHeat, heat.Item{
			Start: second(n), Window: 10 * time.Second, StreamShard: "s", Limit: 1000, HotRate: 700, Units: 3, Records: 3,
			Keys: []heat.Key{{Key: "C#a#0", Units: 3}},
		})
	}
	handler := heatHandler(source, nil, &now)
	for _, foldTo := range []int{40, 60, 100, 110, 120} {
		source.foldTo = second(foldTo)
		var m matrix
		mustGet(t, handler, "/v1/heat", &m)
		if want := httpapi.FormatTime(second(120)); m.AsOf != want {
			t.Errorf("folded to second %d: as of %s, want %s", foldTo, m.AsOf, want)
		}
		source.progress.To = second(40)
	}
}
