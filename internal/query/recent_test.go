package query

import (
	"context"
	"iter"
	"net"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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
	f.progress.To = later(f.progress.To, f.foldTo)
	return before, nil
}

func (f *foldingSource) All(ctx context.Context, from, to time.Time) iter.Seq2[heat.Window, error] {
	return f.liveHeat.Windows(ctx, from, to, 0)
}

func (f *foldingSource) Alone(ctx context.Context, from, to time.Time) iter.Seq2[heat.Window, error] {
	return f.All(ctx, from, to)
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

// TestAsOfStaysWhenWindowsAreFoldedInBetween checks that as_of does not go back if windows are folded between the reads of
// the progress and of the windows.
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

// TestLongWindowsThatAreAllFolded checks as_of and hot keys for windows of five minutes. The last minute has no window
// that is not folded, so the reader takes their length from the progress.
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
	handler := heatHandler(source, nil, &now)
	var full matrix
	mustGet(t, handler, "/v1/heat", &full)
	if want := httpapi.FormatTime(minute(20)); full.AsOf != want || len(full.Rows) != 1 || full.Rows[0].Status != "hot" {
		t.Errorf("as of %s, want %s: %+v", full.AsOf, want, full.Rows)
	}
}

// failingSource is a source whose progress can't be read.
type failingSource struct {
	foldingSource
	err error
}

func (f *failingSource) Progress(context.Context) (heat.Progress, error) {
	return heat.Progress{}, f.err
}

// TestHeatOfUnreachableTable checks that errors of the first read, of the progress of the layers, have the API's status.
func TestHeatOfUnreachableTable(t *testing.T) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	for want, err := range map[int]error{
		503: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED},
		429: &types.ProvisionedThroughputExceededException{},
	} {
		handler := heatHandler(&failingSource{err: err}, nil, &now)
		for _, path := range []string{"/v1/heat", "/v1/hot-keys"} {
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", path, nil))
			if answer.Code != want || answer.Header().Get("Retry-After") == "" {
				t.Errorf("%s after %v: %d %s, want %d with Retry-After", path, err, answer.Code, answer.Body, want)
			}
		}
	}
}
