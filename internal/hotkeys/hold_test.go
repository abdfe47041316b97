package hotkeys_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/hotkeys"
)

// holding returns settings with which quiet windows are held for a minute and stored together.
func holding() hotkeys.Settings {
	s := settings()
	s.Hold = time.Minute
	return s
}

// counted is the sum of a window's heat items.
type counted struct {
	Records, Units uint64
	Keys           map[string]uint64
	Incomplete     bool
}

// windows returns the sums of all heat items by the start of their window.
func (f *fixture) windows(t testing.TB, from, to time.Time) map[time.Time]counted {
	t.Helper()
	all := make(map[time.Time]counted)
	for w, err := range f.reader().All(t.Context(), from, to) {
		if err != nil || len(w.Unreadable) > 0 {
			t.Fatal(err, w.Unreadable)
		}
		for _, it := range w.Items {
			c := all[it.Start]
			if c.Keys == nil {
				c.Keys = make(map[string]uint64)
			}
			c.Records, c.Units, c.Incomplete = c.Records+it.Records, c.Units+it.Units, c.Incomplete || it.Incomplete
			for _, k := range it.Keys {
				c.Keys[k.Index+" "+k.Key] += k.Units
			}
			all[it.Start] = c
		}
	}
	return all
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
		t.Errorf("in its window: %d items, want none; metrics %v; changes %v, want C#hot 1>30", len(f.table.items), f.sink.Data(), f.shards.changes)
	}
	b.writes, b.first = repeat("C#a#0", 30, 21), 781
	b.state = f.must(t, b.payload())
	if len(f.table.items) != 1 || f.held() != 0 || !slices.Equal(f.values("HotKeys")["hotshard-items"], []float64{1}) {
		t.Errorf("after its window: %d items, want 1, %d held, want none; metrics %v", len(f.table.items), f.held(), f.sink.Data())
	}
	b.writes, b.final = nil, true
	f.must(t, b.payload())
	if len(f.table.items) != 2 || f.held() != 1 || len(f.windows(t, start, start.Add(time.Minute))) != 3 {
		t.Errorf("at the end: %d items, want 2, %d held, want 1", len(f.table.items), f.held())
	}
}

// TestBusyWindowsKeepFewKeys checks that a busy window lists heat.BusyKeys keys if quiet windows are held, with the
// heaviest unlisted key as the rest, and otherwise all keys. Its sums are the same.
func TestBusyWindowsKeepFewKeys(t *testing.T) {
	var w writes
	for i := range 40 {
		w = append(w, repeat(fmt.Sprintf("C#%d#0", i), 3+i, 1)...)
	}
	for _, c := range []struct {
		settings   hotkeys.Settings
		keys, rest int
	}{{holding(), heat.BusyKeys, 3 + 40 - heat.BusyKeys - 1}, {settings(), 40, 0}} {
		f := newFixture(c.settings)
		f.must(t, batch{length: max(c.settings.Hold, c.settings.Window), writes: w, first: 1, final: true}.payload())
		for w, err := range f.reader().All(t.Context(), start, start.Add(time.Minute)) {
			if err != nil {
				t.Fatal(err)
			}
			if it := w.Items[0]; len(it.Keys) != c.keys || it.Rest != uint64(c.rest) || it.Units != 900 || it.Records != 900 || f.held() != 0 {
				t.Errorf("hold %v: %d keys, rest %d, %d units, %d records", c.settings.Hold, len(it.Keys), it.Rest, it.Units, it.Records)
			}
		}
		if len(f.table.items) != 1 {
			t.Errorf("hold %v: %d items", c.settings.Hold, len(f.table.items))
		}
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

// TestFoldsOfHeldWindows checks that minutes wait for held windows, that readers and blocks have late ones, and that
// the metrics count each record that was put in time.
func TestFoldsOfHeldWindows(t *testing.T) {
	f := newFixture(holding())
	f.heatTask(t)
	send := func(shard string) {
		f.must(t, batch{length: time.Minute, shard: shard, writes: slices.Concat(repeat("C#a#0", 20, 1), repeat("C#b#0", 30, 31), repeat("C#a#0", 40, 51)), first: 1, final: true}.payload())
	}
	f.now = start.Add(time.Minute + 10*time.Second)
	send("a")
	f.now = start.Add(3 * time.Minute)
	f.heatTask(t)
	f.heatTask(t)
	if p := f.progress(t); p.To.After(start) || p.Hold != time.Minute {
		t.Fatalf("folded too early: progress %+v", p)
	}
	f.now = start.Add(3*time.Minute + 10*time.Second)
	f.heatTask(t)
	if p := f.progress(t); !p.To.Equal(start.Add(time.Minute)) {
		t.Fatalf("folded up to %v, want %v", p.To, start.Add(time.Minute))
	}
	send("late")
	for f.now.Before(start.Add(90 * time.Minute)) {
		f.now = f.now.Add(10 * time.Minute)
		f.heatTask(t)
	}
	for _, step := range []time.Duration{time.Second, time.Minute, 10 * time.Minute} {
		rows := f.merged(t, start, start.Add(10*time.Minute), step)
		if len(rows) != 2 || rows[0].Key != "C#a#0" || rows[0].WriteUnitsPerSecond != 8 || rows[0].Error != 0 || rows[1].WriteUnitsPerSecond != 6 {
			t.Errorf("step %v: rows %+v, want C#a#0 at 8 WCU/s and another at 6", step, rows)
		}
	}
	sum := 0.0
	for _, v := range f.values("WriteUnits")["hotshard-items"] {
		sum += v
	}
	if sum != 90 {
		t.Errorf("metric WriteUnits %v, want a sum of 90", f.values("WriteUnits"))
	}
}

// lowest is a heat table that keeps the lowest sort key of the last query for items of stream shards.
type lowest struct {
	*fakeTable
	low string
}

func (l *lowest) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if values := in.ExpressionAttributeValues; strings.HasPrefix(dynamo.Text(values, ":pk"), "K#") {
		l.low = dynamo.Text(values, ":low")
	}
	return l.fakeTable.Query(ctx, in, o...)
}

// TestReadsGoBackOneHold checks that held items are read from the start of the Hold in which the range begins, or of
// five minutes if the Hold is unknown or has changed. Windows before the range are left out.
func TestReadsGoBackOneHold(t *testing.T) {
	f, from := newFixture(holding()), start.Add(7*time.Minute+30*time.Second)
	client, reader := &lowest{fakeTable: f.table}, f.reader()
	reader.Client = client
	check := func(want time.Time, count int) {
		t.Helper()
		got := 0
		for w, err := range reader.All(t.Context(), from, start.Add(time.Hour)) {
			if got++; err != nil || w.Start.Before(from) {
				t.Fatal(w.Start, err)
			}
		}
		if low, _ := heat.SortBounds(want, want); client.low != low || got != count {
			t.Errorf("%d windows, want %d; held items from %s, want from %s", got, count, client.low, low)
		}
	}
	put := func(later, length time.Duration) {
		f.must(t, batch{later: later, length: length, writes: slices.Concat(repeat("C#a#0", 5, later.Seconds()), repeat("C#a#0", 5, 451)), first: 1, final: true}.payload())
	}
	f.now = start.Add(8 * time.Minute)
	put(7*time.Minute, time.Minute)
	check(start.Add(5*time.Minute), 1)
	f.heatTask(t)
	check(start.Add(7*time.Minute), 1)
	longer := holding()
	longer.Hold = 5 * time.Minute
	f.rebuild(t, longer, nil)
	f.heatTask(t)
	put(5*time.Minute, longer.Hold)
	check(start.Add(5*time.Minute), 1)
	if p := f.progress(t); p.Hold != longer.Hold || p.Held != heat.MaxHold || len(f.table.items) != 2 {
		t.Errorf("progress %+v, want a Hold of %v and Held of %v; %d items, want 2", p, longer.Hold, heat.MaxHold, len(f.table.items))
	}
}
