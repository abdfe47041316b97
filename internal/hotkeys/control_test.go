package hotkeys_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/pkg/shard"
)

// TestGrowthAheadOfThrottling checks that a key grows in the invocation that makes it hot, by its heaviest second, and
// only once in the window. A changed score of a board takes two units.
func TestGrowthAheadOfThrottling(t *testing.T) {
	for _, c := range []struct {
		below, at, above writes
		want, log        string
	}{
		{slices.Concat(repeat("C#a#0", 350, 1), repeat("C#a#0", 349, 2)), repeat("C#a#0", 1, 2), repeat("C#a#0", 500, 3),
			"C#a 1>14", "from=1 to=14"}, // 350 in one second, 25 for each write shard
		{scores("all", 0, 349, 1, true), scores("all", 0, 1, 2, true), scores("all", 0, 500, 3, true),
			"L#b 1>56", "from=1 to=56"}, // 698 in one second, 12.5 for each write shard
	} {
		f := newFixture(settings())
		state := f.must(t, batch{writes: c.below, first: 1}.payload())
		if len(f.shards.changes) > 0 {
			t.Errorf("below the threshold: changes %v, want none", f.shards.changes)
		}
		state = f.must(t, batch{writes: c.at, first: 700, state: state}.payload())
		if !slices.Equal(f.shards.changes, []string{c.want}) {
			t.Fatalf("at the threshold: changes %v, want %s", f.shards.changes, c.want)
		}
		if n := f.shards.notes[0]; n.By != "hotkeys" || !strings.Contains(n.Why, "the hottest write shard of 1 took 70.0 of a partition's 100") {
			t.Errorf("%s has the note %+v", c.want, n)
		}
		state = f.must(t, batch{writes: c.above, first: 701, state: state}.payload())
		f.must(t, batch{state: state, final: true}.payload())
		if !slices.Equal(f.shards.changes, []string{c.want}) || len(f.values("ShardCountChanges")["hotshard-items"]) != 1 {
			t.Errorf("after the window: changes %v, metrics %v; want only %s", f.shards.changes, f.values("ShardCountChanges"), c.want)
		}
		if logs := f.logs.String(); strings.Count(logs, "shard count changed") != 1 || !strings.Contains(logs, c.log) {
			t.Errorf("want one change %s in the logs:\n%s", c.log, logs)
		}
	}
}

// TestGrowthControl checks that a hot key grows with control act, is logged and counted with observe, and neither with
// off.
func TestGrowthControl(t *testing.T) {
	for control, want := range map[growth.Control]struct {
		changes  []string
		observed int
	}{growth.Act: {[]string{"C#a 1>4"}, 0}, growth.Observe: {nil, 1}, growth.Off: {nil, 0}} {
		s := settings()
		s.Control = control
		f := newFixture(s)
		var state map[string]string
		for i := range 4 {
			state = f.must(t, batch{writes: repeat("C#a#0", 100, float64(2*i)), first: 1 + 200*i, state: state}.payload())
			state = f.must(t, batch{writes: repeat("C#a#0", 100, float64(2*i+1)), first: 101 + 200*i, state: state}.payload())
		}
		f.must(t, batch{state: state, final: true}.payload())
		observed := f.values("ShardCountChangesObserved")["hotshard-items"]
		if !slices.Equal(f.shards.changes, want.changes) || len(observed) != want.observed || len(f.values("ShardCountChanges")) != len(want.changes) {
			t.Errorf("%s: changes %v, want %v; metrics %v", control, f.shards.changes, want.changes, f.sink.data)
		}
		if would := strings.Count(f.logs.String(), "shard count would change"); would != want.observed {
			t.Errorf("%s: %d observed changes in the logs, want %d\n%s", control, would, want.observed, f.logs)
		}
		if rows := f.rows(t); rows[0].Status != heat.Hot {
			t.Errorf("%s: rows %+v, want a hot one", control, rows)
		}
	}
}

// TestNotGrown lists conditions under which a hot key does not grow. Its window is stored nevertheless.
func TestNotGrown(t *testing.T) {
	hot := repeat("C#a#0", 800, 1)
	for name, c := range map[string]struct {
		writes
		table string
		now   time.Duration // after the window's start
		set   func(*fakeShards)
		log   string // the reason; "" if no decision is logged

		failures int
	}{
		"a backlog":      {writes: hot, now: 31 * time.Second},
		"an old part":    {writes: repeat("C#a#0", 800, -25), now: time.Second},
		"another table":  {writes: hot, table: "other"},
		"no map":         {writes: hot, set: func(f *fakeShards) { f.fail = shard.ErrStale }, log: "shard count unknown", failures: 1},
		"a failure":      {writes: hot, set: func(f *fakeShards) { f.failChange = shard.ErrUnavailable }, log: "shard count not changed", failures: 1},
		"at the bound":   {writes: hot, set: func(f *fakeShards) { f.partitions = 1; f.set("C#a", 4, start.Add(-time.Hour)) }, log: "the table's 1 partitions"},
		"another change": {writes: hot, set: func(f *fakeShards) { f.before = func() { f.set("C#a", 4, start) } }, log: "shard count left alone"},
	} {
		f := newFixture(settings())
		f.now = start.Add(c.now)
		if c.set != nil {
			c.set(f.shards)
		}
		f.must(t, batch{writes: c.writes, table: c.table, first: 1, final: true}.payload())
		if len(f.shards.changes) > 0 || len(f.values("ShardCountChanges")) > 0 || len(f.values("ShardCountChangeFailures")) != c.failures || len(f.table.items) != 1 {
			t.Errorf("%s: changes %v, want none; %d heat items, want 1; metrics %v", name, f.shards.changes, len(f.table.items), f.sink.data)
		}
		if logs := f.logs.String(); !strings.Contains(logs, c.log) || c.log == "" && strings.Contains(logs, "shard count") {
			t.Errorf("%s: want the reason %q in the logs:\n%s", name, c.log, logs)
		}
	}
}
