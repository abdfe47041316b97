package query

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/httpapi"
)

// foldingSource is a counted source whose task folds windows right after the next Progress.
type foldingSource struct {
	liveHeat
	progress heat.Progress
	foldTo   time.Time
}

func (f *foldingSource) Progress(context.Context) (heat.Progress, error) {
	before := f.progress
	f.progress.To = later(f.progress.To, f.foldTo)
	return before, nil
}

func (f *foldingSource) All(ctx context.Context, from, to time.Time) iter.Seq2[heat.Window, error] {
	return f.liveHeat.Windows(ctx, from, to, 0)
}

func (f *foldingSource) Windows(ctx context.Context, from, to time.Time, _ time.Duration) iter.Seq2[heat.Window, error] {
	return func(yield func(heat.Window, error) bool) {
		for window, err := range f.All(ctx, from, to) {
			if window.Start.Before(f.progress.To) {
				window.Items = heat.ByWindow.Fold(window.Items, window.Start)
			}
			if !yield(window, err) {
				return
			}
		}
	}
}

// TestAsOfStaysWhenWindowsAreFoldedInBetween checks that as_of does not go back if windows are folded between the
// reads of the progress and of the windows.
func TestAsOfStaysWhenWindowsAreFoldedInBetween(t *testing.T) {
	begin := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	second := func(n int) time.Time { return begin.Add(time.Duration(n) * time.Second) }
	now := second(126)
	source := &foldingSource{progress: heat.Progress{From: second(-600), To: second(40), Read: second(-600), Ran: second(60)}}
	for n := 0; n <= 110; n += 10 {
		source.liveHeat = append(source.liveHeat, heat.Item{
			Start: second(n), Window: 10 * time.Second, StreamShard: "s", Limit: 1000, HotRate: 700, Units: 3, Records: 3, Lag: time.Second,
			Keys: []heat.Key{{Key: "C#a#0", Units: 3}},
		})
	}
	handler := httpapi.New(slog.New(slog.DiscardHandler), HeatRoutes(NewHeat(source, HeatOptions{Deadline: time.Minute, Now: func() time.Time { return now }})))
	for _, foldTo := range []int{40, 60, 100, 110, 120} {
		source.foldTo = second(foldTo)
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), "GET", "/v1/heat", nil))
		var m matrix
		if err := json.Unmarshal(recorder.Body.Bytes(), &m); err != nil || recorder.Code != 200 {
			t.Fatalf("%d %s", recorder.Code, recorder.Body)
		}
		if want := httpapi.FormatTime(second(120)); m.AsOf != want {
			t.Errorf("folded to second %d: as of %s, want %s", foldTo, m.AsOf, want)
		}
		source.progress.To = second(40)
	}
}

// TestLongWindowsThatAreAllFolded checks that as_of and what is hot now follow windows of five minutes, of which
// a reader of the last minute sees none: the progress has their length.
func TestLongWindowsThatAreAllFolded(t *testing.T) {
	begin := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	minute := func(n int) time.Time { return begin.Add(time.Duration(n) * time.Minute) }
	now := minute(20).Add(30 * time.Second)
	source := &foldingSource{progress: heat.Progress{From: minute(-60), To: minute(20), Read: minute(-60), Ran: now, Window: 5 * time.Minute}}
	for n, units := range []uint64{3, 3, 250_000, 3} { // the one before the newest is hot
		source.liveHeat = append(source.liveHeat, heat.Item{
			Start: minute(5 * n), Window: 5 * time.Minute, StreamShard: "s", Limit: 1000, HotRate: 700, Units: units, Records: 3, Lag: time.Second,
			Keys: []heat.Key{{Key: "C#a#0", Units: units, PeakAt: minute(5 * n)}},
		})
	}
	handler := httpapi.New(slog.New(slog.DiscardHandler), HeatRoutes(NewHeat(source, HeatOptions{Deadline: time.Minute, Now: func() time.Time { return now }})))
	type answer struct {
		matrix
		Layout string
		Delta  bool
	}
	read := func(query string) (m answer) {
		t.Helper()
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), "GET", "/v1/heat"+query, nil))
		if err := json.Unmarshal(recorder.Body.Bytes(), &m); err != nil || recorder.Code != 200 || len(m.Rows) != 1 {
			t.Fatalf("%d %s", recorder.Code, recorder.Body)
		}
		return m
	}
	full := read("")
	if want := httpapi.FormatTime(minute(20)); full.AsOf != want || full.Rows[0].Status != "hot" {
		t.Errorf("as of %s, want %s: %+v", full.AsOf, want, full.Rows)
	}
	now = now.Add(10 * time.Second)
	if delta := read("?layout=" + full.Layout + "&after=" + full.AsOf); !delta.Delta || delta.Rows[0].Status != "hot" {
		t.Errorf("a poll: %+v", delta)
	}
}
