package hotkeys_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/internal/test/require"
)

// foldSoon folds the current windows, four minutes later. It runs the task twice, since one run folds up to ten
// minutes.
func (f *fixture) foldSoon(t tester) {
	t.Helper()
	f.now = f.now.Add(4 * time.Minute)
	f.heatTask(t)
	f.heatTask(t)
}

func (f *fixture) reader() heat.WindowReader {
	return heat.WindowReader{Client: f.table, Table: "heat"}
}

func (f *fixture) progress(t testing.TB) heat.Progress {
	t.Helper()
	p, err := f.reader().Progress(t.Context())
	require.NoError(t, err)
	return p
}

// TestFoldsCatchUp checks that each run of a backlog folds ten minutes, and that windows before an outage longer than
// their retention are skipped.
func TestFoldsCatchUp(t *testing.T) {
	f := newFixture(settings())
	f.must(t, unwindowed(others(f.now), 1))
	f.heatTask(t)
	for n := range 25 * 6 {
		f.must(t, unwindowed(others(f.now), 1000*(n+1)))
		f.now = f.now.Add(10 * time.Second)
	}
	var runs []int
	for range 4 {
		runs = append(runs, f.heatTask(t).Windows)
	}
	if want := []int{54, 60, 30, 0}; !slices.Equal(runs, want) {
		t.Errorf("runs folded %v windows, want %v", runs, want)
	}
	f.now = f.now.Add(settings().HeatRetention + time.Hour)
	f.heatTask(t)
	f.heatTask(t)
	if p := f.progress(t); p.From.Before(f.now.Add(-20*time.Minute)) || p.To.Before(f.now.Add(-70*time.Second)) {
		t.Errorf("after a long outage, at %v: progress %+v", f.now, p)
	}
}

// TestReadFollowsRetention checks that Progress.Read begins neither before items that have expired, nor before an
// outage in which the stream's records expired.
func TestReadFollowsRetention(t *testing.T) {
	s := settings()
	s.HeatRetention = 48 * time.Hour
	f := newFixture(s)
	f.heatTask(t)
	first := f.progress(t).Read
	at := func(since time.Duration) time.Time {
		f.now = start.Add(since)
		f.heatTask(t)
		return f.progress(t).Read
	}
	if got := at(23 * time.Hour); !got.Equal(first) {
		t.Errorf("after an outage of 23 h: Read %v, want %v as before", got, first)
	}
	if got, outage := at(48*time.Hour-time.Minute), f.now; outage.Sub(got) > 10*time.Second {
		t.Errorf("after an outage of 25 h: Read %v, want the outage's end %v", got, outage)
	}

	f = newFixture(settings())
	f.heatTask(t)
	first = f.progress(t).Read
	for n := range 30 {
		got, want := at(time.Duration(n)*10*time.Minute), f.now.Add(-settings().HeatRetention)
		if got.Before(want) || got.After(want.Add(10*time.Second)) && !got.Equal(first) {
			t.Fatalf("after %v: Read %v, want about %v", f.now.Sub(start), got, want)
		}
	}
}

// TestFoldsOfUnreadableItems checks that a minute is incomplete, and logged, if one of its items is unreadable.
func TestFoldsOfUnreadableItems(t *testing.T) {
	f := newFixture(settings())
	f.heatTask(t)
	f.must(t, unwindowed(units(f.now, "C#a#0", 100), 1))
	f.spoilWindow(t, start)
	f.now = start.Add(2 * time.Minute)
	f.heatTask(t)
	for w, err := range f.reader().Windows(t.Context(), start, start.Add(time.Minute), time.Minute) {
		if err != nil || len(w.Items) != 1 || w.Items[0].Units != 100 || len(w.Unreadable) != 1 || !errors.Is(w.Unreadable[0], heat.ErrIncomplete) {
			t.Errorf("%v, window %+v; want 100 units and an error", err, w)
		}
	}
	if logs := f.logs.String(); !strings.Contains(logs, "not readable") {
		t.Errorf("the unreadable item is not in the logs:\n%s", logs)
	}
}

// TestFoldsFail checks that a run returns the error of each of its calls.
func TestFoldsFail(t *testing.T) {
	for n, total := 0, 0; n <= total; n++ {
		f := newFixture(settings())
		f.heatTask(t)
		f.must(t, unwindowed(units(f.now, "C#a#0", 100), 1))
		f.foldSoon(t)
		f.must(t, unwindowed(units(start, "C#b#0", 300), 2000)) // late
		f.now = f.now.Add(32 * time.Minute)
		f.table.calls, f.table.failFrom = 0, n
		_, err := f.handler.Invoke(t.Context(), []byte(hotkeys.HeatTask))
		if n == 0 {
			total = f.table.calls
		}
		if (err == nil) != (n == 0) || n > 0 && !errors.Is(err, errPut) || total < 10 {
			t.Errorf("with the calls from %d of %d on failed: %v", n, total, err)
		}
	}
}

// TestHeatTaskStoresASnapshot checks that each run calls StoreSnapshot of the shard map, and that an error is logged
// and does not fail the run.
func TestHeatTaskStoresASnapshot(t *testing.T) {
	f := newFixture(settings())
	f.heatTask(t)
	if strings.Contains(f.logs.String(), "not stored") {
		t.Errorf("the snapshot had no time:\n%s", f.logs)
	}
	f.shards.failNote = errors.New("no snapshot")
	f.heatTask(t)
	if f.shards.snapshots != 2 || !strings.Contains(f.logs.String(), "no snapshot") {
		t.Errorf("%d calls of StoreSnapshot, want 2, and the error in the logs:\n%s", f.shards.snapshots, f.logs)
	}
}
