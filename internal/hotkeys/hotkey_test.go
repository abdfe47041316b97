package hotkeys_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/hotkeys"
)

// repeat returns n writes to a key, in the second at.
func repeat(key string, n int, at float64) writes {
	return slices.Repeat(writes{{key: key, at: at}}, n)
}

// deliver delivers a window in batches of n writes.
func deliver(t testing.TB, f *fixture, all writes, n int) {
	t.Helper()
	var state map[string]string
	first := 1
	for part := range slices.Chunk(all, n) {
		state = f.must(t, batch{writes: part, first: first, state: state}.payload())
		first += len(part)
	}
	if state = f.must(t, batch{state: state, final: true}.payload()); len(state) != 0 {
		t.Errorf("state %v after the window, want none", state)
	}
}

// TestWindowReport checks the rows, the metrics and the logs of a window with two hot keys, one just below the
// threshold, and a removal by TTL, which costs nothing.
func TestWindowReport(t *testing.T) {
	f := newFixture(settings())
	all := slices.Concat(
		repeat("C#a#0", 100, 1), repeat("C#a#0", 700, 3), // hot
		repeat("C#a#1", 710, 4),            // its sibling, also hot
		repeat("E#b#2026-01-05#0", 699, 5), // just not hot
		writes{{key: "C#a#0", at: 6, ttl: true}},
	)
	deliver(t, f, all, 500)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	both, alone := heat.Siblings{Seen: 2, Low: 151, High: 151}, heat.Siblings{Seen: 1, Low: 69.9, High: 69.9}
	hot := heat.Verdicts{Worst: heat.Hot, Now: heat.Hot, HotUntil: at(10)}
	want := []heat.KeyHeat{
		{Key: "C#a#0", WriteUnitsPerSecond: 80, Limit: 100, Peak: 700, PeakAt: at(3), FirstSeen: start, LastSeen: at(10), Status: heat.Hot, Verdicts: hot, Start: start, Window: 10 * time.Second, UnitsPerWrite: 1, Siblings: both},
		{Key: "C#a#1", WriteUnitsPerSecond: 71, Limit: 100, Peak: 710, PeakAt: at(4), FirstSeen: start, LastSeen: at(10), Status: heat.Hot, Verdicts: hot, Start: start, Window: 10 * time.Second, UnitsPerWrite: 1, Siblings: both},
		{Key: "E#b#2026-01-05#0", WriteUnitsPerSecond: 69.9, Limit: 100, Peak: 699, PeakAt: at(5), FirstSeen: start, LastSeen: at(10), Verdicts: hot, Start: start, Window: 10 * time.Second, UnitsPerWrite: 1, Siblings: alone},
	}
	if diff := cmp.Diff(want, f.rows(t)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	table := "hotshard-items"
	for name, want := range map[string]map[string][]float64{
		"HotKeys": {table: {2}}, "KeyWriteUnitsPerSecond": {table + " C#a": {80, 70, 80}},
		"SaturatedKeys": {table: {0}}, "ShardCountChanges": {table: {1}}, "ShardCountChangesObserved": {},
	} {
		if diff := cmp.Diff(want, f.values(name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if logs := f.logs.String(); strings.Count(logs, `"hot key"`) != 4 || strings.Count(logs, " hotKeys=2") != 2 || strings.Contains(logs, "E#b") || !strings.Contains(logs, "from=1 to=36") {
		t.Errorf("want four hot keys, none E#b, and a change to 36 write shards in the logs:\n%s", logs)
	}
}

// TestEarlyTermination checks that a window that Lambda ends early is counted in a metric, continues with an empty
// state, and keeps all its items.
func TestEarlyTermination(t *testing.T) {
	f := newFixture(settings())
	f.must(t, batch{writes: repeat("C#a#0", 400, 1), first: 1, early: true}.payload())
	f.must(t, batch{writes: repeat("C#a#0", 400, 2), first: 401, early: true, final: true}.payload())
	f.must(t, batch{writes: repeat("C#a#0", 5, 3), first: 801, final: true}.payload())
	rows := f.rows(t)
	if len(f.table.items) != 3 || len(rows) != 1 || rows[0].WriteUnitsPerSecond != 80.5 || rows[0].Status != heat.Hot {
		t.Errorf("%d items, want 3; rows %+v, want one of 80.5 WCU/s that is hot", len(f.table.items), rows)
	}
	if got := f.values("WindowsTerminatedEarly")["hotshard-items"]; !slices.Equal(got, []float64{1, 1}) {
		t.Errorf("WindowsTerminatedEarly %v, want two of 1", got)
	}
}

// brokenSink fails every put.
type brokenSink struct{ puts int }

func (b *brokenSink) Put(context.Context, []hotkeys.Datum) error {
	b.puts++
	return errors.New("no metrics today")
}

// TestBrokenMetrics checks that a batch succeeds and its heat item is stored if metrics can't be sent.
func TestBrokenMetrics(t *testing.T) {
	f, sink := newFixture(settings()), new(brokenSink)
	f.rebuild(t, settings(), func(deps *hotkeys.Deps) { deps.Metrics = sink })
	f.must(t, batch{writes: repeat("C#a#0", 800, 1), first: 1, final: true}.payload())
	if sink.puts != 1 || len(f.table.items) != 1 {
		t.Errorf("%d puts of metrics, want 1; %d heat items, want 1", sink.puts, len(f.table.items))
	}
}
