package hotkeys_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/metrics"
	"github.com/hotshard/hotshard/internal/hotkeys"
)

func repeat(key string, n int, at float64) writes {
	return slices.Repeat(writes{{key: key, at: at}}, n)
}

// deliver sends a window in batches of n writes.
func deliver(t testing.TB, f *fixture, all writes, n int) {
	t.Helper()
	var state map[string]string
	first := 1
	for part := range slices.Chunk(all, n) {
		state = f.must(t, batch{writes: part, first: first, state: state}.payload())
		first += len(part)
	}
	if state = f.must(t, batch{state: state, final: true}.payload()); len(state) != 0 {
		t.Errorf("the state after the window is %v", state)
	}
}

func TestReport(t *testing.T) {
	f := newFixture(settings())
	all := slices.Concat(
		repeat("C#a#0", 100, 1), repeat("C#a#0", 700, 3), // hot
		repeat("C#a#1", 710, 4),                  // its sibling, hot too
		repeat("E#b#2026-01-05#0", 699, 5),       // just not hot
		writes{{key: "C#a#0", at: 6, ttl: true}}, // free
	)
	deliver(t, f, all, 500)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	both, alone := heat.Siblings{Seen: 2, Low: 151, High: 151}, heat.Siblings{Seen: 1, Low: 69.9, High: 69.9}
	hot := heat.Verdicts{Worst: heat.Hot, Now: heat.Hot, HotUntil: at(10)} // hot until the end of the third second, which takes more than a partition
	want := []heat.KeyHeat{
		{Key: "C#a#0", WriteUnitsPerSecond: 80, Limit: 100, Peak: 700, PeakAt: at(3), FirstSeen: start, LastSeen: at(10), Status: heat.Hot, Verdicts: hot, Start: start, Window: 10 * time.Second, UnitsPerWrite: 1, Siblings: both},
		{Key: "C#a#1", WriteUnitsPerSecond: 71, Limit: 100, Peak: 710, PeakAt: at(4), FirstSeen: start, LastSeen: at(10), Status: heat.Hot, Verdicts: hot, Start: start, Window: 10 * time.Second, UnitsPerWrite: 1, Siblings: both},
		{Key: "E#b#2026-01-05#0", WriteUnitsPerSecond: 69.9, Limit: 100, Peak: 699, PeakAt: at(5), FirstSeen: start, LastSeen: at(10), Verdicts: hot, Start: start, Window: 10 * time.Second, UnitsPerWrite: 1, Siblings: alone},
	}
	if diff := cmp.Diff(want, f.rows(t)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	f.foldSoon(t)
	table := "hotshard-items"
	for name, want := range map[string]map[string][]float64{
		"HotKeys": {table: {2}}, "MaxKeyWriteUnitsPerSecond": {table: {80}},
		"WriteUnits": {table: {2209}}, "Records": {table: {2210}}, "KeyWriteUnitsPerSecond": {table + " C#a": {80, 70, 80}},
		"SaturatedKeys": {table: {0}}, "ShardCountChanges": {table: {1}}, "ShardCountChangesObserved": {},
	} {
		if diff := cmp.Diff(want, f.values(name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if logs := f.logs.String(); strings.Count(logs, `"hot key"`) != 4 || strings.Contains(logs, "E#b") || !strings.Contains(logs, "Resharded to 36 at") {
		t.Errorf("logs:\n%s", logs)
	}
}

// TestUnwindowed checks that batches without a tumbling window give the same rows.
func TestUnwindowed(t *testing.T) {
	with, without := newFixture(settings()), newFixture(settings())
	all := slices.Concat(repeat("C#a#0", 400, 1), repeat("C#b#0", 30, 2), repeat("C#a#0", 500, 7))
	deliver(t, with, all, 300)
	for i, part := range slices.Collect(slices.Chunk(all, 300)) {
		without.must(t, unwindowed(part, 1+300*i))
	}
	if diff := cmp.Diff(with.rows(t), without.rows(t)); diff != "" {
		t.Errorf("rows (-with +without):\n%s", diff)
	}
	if len(without.table.items) != 4 {
		t.Errorf("%d heat items, want 4", len(without.table.items))
	}
	without.foldSoon(t)
	if v := without.values("WriteUnits"); !slices.Equal(v["hotshard-items"], []float64{930}) {
		t.Errorf("write units: %v", v)
	}
}

// TestBacklog checks that an hour's records that are delivered at once count at the rate at which they were made, even
// in one tumbling window.
func TestBacklog(t *testing.T) {
	var hour writes
	for s := range 3600 {
		hour = append(hour, write{key: "C#steady#0", at: float64(s)})
	}
	for name, payload := range map[string][]byte{
		"unwindowed": unwindowed(hour, 1), "one window": batch{writes: hour, first: 1, final: true}.payload(),
	} {
		f := newFixture(settings())
		f.must(t, payload)
		rows := f.rows(t)
		if len(rows) != 1 || rows[0].WriteUnitsPerSecond != 1 || rows[0].Peak != 1 || rows[0].LastSeen != start.Add(time.Hour) {
			t.Errorf("%s: rows %+v", name, rows)
		}
		if len(f.table.items) != 360 {
			t.Errorf("%s: %d heat items, want 360", name, len(f.table.items))
		}
	}
}

// TestEarlyTermination checks that an interrupted window goes on with an empty state, and that both items are kept.
func TestEarlyTermination(t *testing.T) {
	f := newFixture(settings())
	f.must(t, batch{writes: repeat("C#a#0", 400, 1), first: 1, early: true}.payload())
	f.must(t, batch{writes: repeat("C#a#0", 400, 2), first: 401, early: true, final: true}.payload())
	f.must(t, batch{writes: repeat("C#a#0", 5, 3), first: 801, final: true}.payload())
	rows := f.rows(t)
	if len(f.table.items) != 3 || len(rows) != 1 || rows[0].WriteUnitsPerSecond != 80.5 || rows[0].Status != heat.Hot {
		t.Errorf("%d items, rows %+v", len(f.table.items), rows)
	}
}

// TestSplitKey checks that a key that is split over stream shards is hot by its sum.
func TestSplitKey(t *testing.T) {
	f := newFixture(settings())
	for _, shard := range []string{"a", "b"} {
		f.must(t, batch{writes: repeat("C#a#0", 400, 1), first: 1, shard: shard, final: true}.payload())
	}
	rows := f.rows(t)
	if len(rows) != 1 || rows[0].WriteUnitsPerSecond != 80 || rows[0].Peak != 800 || rows[0].Status != heat.Hot {
		t.Errorf("rows %+v", rows)
	}
}

func TestEmptyWindow(t *testing.T) {
	f := newFixture(settings())
	f.must(t, batch{final: true}.payload())
	if len(f.table.items) != 0 || len(f.sink.Data()) != 0 {
		t.Errorf("an empty window has %d items and %d metrics", len(f.table.items), len(f.sink.Data()))
	}
}

// TestMetricKeys checks that the budget bounds names, not values. A value is sent when its key becomes hot, and with
// the window's report.
func TestMetricKeys(t *testing.T) {
	s := settings()
	s.MetricKeys = 2
	f := newFixture(s)
	var all writes
	for i := range 4 {
		all = append(all, repeat(fmt.Sprintf("C#%d#0", i), 800-i, 1)...)
	}
	deliver(t, f, all, 5000)
	deliver(t, f, all, 5000)
	want := map[string][]float64{"hotshard-items C#0": {80, 80, 80, 80}, "hotshard-items C#1": {79.9, 79.9, 79.9, 79.9}}
	if diff := cmp.Diff(want, f.values("KeyWriteUnitsPerSecond")); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

type brokenSink struct{ puts int }

func (b *brokenSink) Put(context.Context, []metrics.Datum) error {
	b.puts++
	return errors.New("no metrics today")
}

func TestBrokenMetrics(t *testing.T) {
	f := newFixture(settings())
	sink := new(brokenSink)
	deps := f.deps()
	deps.Metrics, deps.Log = sink, discard
	handler, err := hotkeys.New(settings(), deps)
	if err != nil {
		t.Fatal(err)
	}
	f.handler = handler
	f.must(t, batch{writes: repeat("C#a#0", 800, 1), first: 1, final: true}.payload())
	if sink.puts != 1 || len(f.table.items) != 1 {
		t.Errorf("%d puts, %d items", sink.puts, len(f.table.items))
	}
}
