package hotkeys_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/internal/test/require"
)

// holding returns settings with which quiet windows are held for a minute and stored together.
func holding() hotkeys.Settings {
	s := settings()
	s.Hold = time.Minute
	return s
}

// windows returns the number of stored windows.
func (f *fixture) windows(t *testing.T, from, to time.Time) (n int) {
	t.Helper()
	for _, err := range f.reader().Windows(t.Context(), from, to, time.Second) {
		require.NoError(t, err)
		n++
	}
	return n
}

// held returns the number of heat items with held windows, of which the heaviest second is unknown.
func (f *fixture) held() (n int) {
	for _, stored := range f.table.items {
		it, err := heat.Parse(stored)
		if err != nil {
			panic(err)
		}
		if !slices.ContainsFunc(it.Keys, func(k heat.Key) bool { return k.Peak != k.Units/10 }) {
			n++
		}
	}
	return n
}

// TestHotWindowsAreNotHeld checks that a key that is hot among held windows grows and is reported before its window
// ends, and that the hot window is stored with the first record after it.
func TestHotWindowsAreNotHeld(t *testing.T) {
	f := newFixture(holding())
	b := batch{length: time.Minute, writes: repeat("C#a#0", 30, 1), first: 1}
	b.state = f.must(t, b.payload())
	b.writes, b.first = repeat("C#hot#0", 750, 12), 31
	b.state = f.must(t, b.payload())
	if len(f.table.items) != 0 || len(f.values("KeyWriteUnitsPerSecond")["hotshard-items C#hot"]) != 1 || !slices.Equal(f.shards.changes, []string{"C#hot 1>30"}) {
		t.Errorf("in its window: %d items, want none; metrics %v; changes %v, want C#hot 1>30", len(f.table.items), f.sink.data, f.shards.changes)
	}
	b.writes, b.first = repeat("C#a#0", 30, 21), 781
	b.state = f.must(t, b.payload())
	if len(f.table.items) != 1 || f.held() != 0 || !slices.Equal(f.values("HotKeys")["hotshard-items"], []float64{1}) {
		t.Errorf("after its window: %d items, want 1, %d held, want none; metrics %v", len(f.table.items), f.held(), f.sink.data)
	}
	b.writes, b.final = nil, true
	f.must(t, b.payload())
	if len(f.table.items) != 2 || f.held() != 1 || f.windows(t, start, start.Add(time.Minute)) != 3 {
		t.Errorf("at the end: %d items, want 2, %d held, want 1", len(f.table.items), f.held())
	}
}

// TestHeldIndexHeat checks that a window is not held if an index key may be hot by the sum of all stream shards.
func TestHeldIndexHeat(t *testing.T) {
	for n, want := range map[int]int{2: 1, 3: 0} { // a quarter of 700 units, over 64 stream shards
		f := newFixture(holding())
		var w writes
		for i := range n {
			w = append(w, scored("b", "all", fmt.Sprint(i), 1, -1, 0))
		}
		f.must(t, batch{length: time.Minute, writes: w, first: 1, final: true}.payload())
		if f.held() != want || len(f.table.items) != 1 {
			t.Errorf("%d scores: %d items, want 1; %d held, want %d", n, len(f.table.items), f.held(), want)
		}
	}
}
