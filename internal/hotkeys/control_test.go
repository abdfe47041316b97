package hotkeys_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestGrowthAheadOfThrottling checks that a hot key grows in the same invocation, and once, although the window goes
// on.
func TestGrowthAheadOfThrottling(t *testing.T) {
	f := newFixture(settings())
	all := slices.Concat(repeat("C#a#0", 350, 1), repeat("C#a#0", 349, 2))
	state := f.must(t, batch{writes: all, first: 1}.payload())
	if len(f.shards.changes) > 0 {
		t.Fatalf("below the budget: %v", f.shards.changes)
	}
	state = f.must(t, batch{writes: repeat("C#a#0", 1, 2), first: 700, state: state}.payload())
	want := []string{"C#a 1>14"} // 350 in one second, 25 for each
	if !slices.Equal(f.shards.changes, want) {
		t.Fatalf("at the budget: %v", f.shards.changes)
	}
	if n := f.shards.notes[0]; n.By != "hotkeys" || !strings.Contains(n.Why, "the hottest write shard of 1 took 70.0 of a partition's 100") {
		t.Errorf("the note is %+v", n)
	}
	state = f.must(t, batch{writes: repeat("C#a#0", 500, 3), first: 701, state: state}.payload())
	f.must(t, batch{state: state, final: true}.payload())
	if !slices.Equal(f.shards.changes, want) || len(f.values("ShardCountChanges")["hotshard-items"]) != 1 {
		t.Errorf("changes %v, metrics %v", f.shards.changes, f.values("ShardCountChanges"))
	}
	if logs := f.logs.String(); strings.Count(logs, "shard count changed") != 1 || !strings.Contains(logs, "from=1 to=14") {
		t.Errorf("logs:\n%s", logs)
	}
}

func TestControl(t *testing.T) {
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
			t.Errorf("%s: changes %v, metrics %v", control, f.shards.changes, f.sink.Data())
		}
		if would := strings.Count(f.logs.String(), "shard count would change"); would != want.observed {
			t.Errorf("%s: logs:\n%s", control, f.logs)
		}
		if rows := f.rows(t); rows[0].Status != heat.Hot {
			t.Errorf("%s: rows %+v", control, rows)
		}
	}
}

// even returns the writes of a 10 s window with the given rates per second, one for each write shard.
func even(name string, rates ...int) (all writes) {
	for n, rate := range rates {
		all = append(all, repeat(fmt.Sprintf("%s#%d", name, n), 10*rate, 1)...)
	}
	return all
}

// TestNotGrown lists conditions under which a key does not grow.
func TestNotGrown(t *testing.T) {
	hot := repeat("C#a#0", 800, 1)
	for name, c := range map[string]struct {
		payload []byte
		now     time.Duration // after the window's start
		set     func(*fakeShards)
		log     string
	}{
		"a backlog":     {batch{writes: hot, first: 1, final: true}.payload(), 31 * time.Second, nil, ""},
		"an old part":   {batch{writes: repeat("C#a#0", 800, -25), first: 1, final: true}.payload(), time.Second, nil, ""},
		"a backfill":    {batch{writes: repeat("E#e#2025-12-24#0", 800, 1), first: 1, final: true}.payload(), 0, nil, "events of past days"},
		"another's key": {batch{writes: repeat("user-7", 800, 1), first: 1, final: true}.payload(), 0, nil, ""},
		"a player":      {batch{writes: repeat("L#board#all#7", 800, 1), first: 1, final: true}.payload(), 0, nil, ""},
		"another table": {[]byte(strings.ReplaceAll(string(batch{writes: hot, first: 1, final: true}.payload()), "hotshard-items", "other")),
			0, nil, ""},
		"in force just now": {batch{writes: repeat("C#a#1", 800, 1), first: 1, final: true}.payload(), 0,
			func(f *fakeShards) { f.set("C#a", 2, start.Add(time.Second)) }, ""},
		"skew":    {batch{writes: even("E#e#2026-01-05", 90, 5, 5, 5), first: 1, final: true}.payload(), 0, func(f *fakeShards) { f.set("E#e", 4, start.Add(-time.Hour)) }, "do not cure skew"},
		"unheard": {batch{writes: repeat("E#e#2026-01-05#0", 800, 1), first: 1, final: true}.payload(), 0, func(f *fakeShards) { f.set("E#e", 8, start.Add(-time.Hour)) }, ""},
		"pinned":  {batch{writes: hot, first: 1, final: true}.payload(), 0, func(f *fakeShards) { f.entries["C#a"] = shardmap.Entry{Pinned: true} }, ""},
		"no map":  {batch{writes: hot, first: 1, final: true}.payload(), 0, func(f *fakeShards) { f.fail = shard.ErrStale }, "shard count unknown"},
		"outrun": {batch{writes: hot, first: 1, final: true}.payload(), 0,
			func(f *fakeShards) { f.before = func() { f.set("C#a", 4, start) } }, "shard count left alone"},
		"all that help": {batch{writes: hot, first: 1, final: true}.payload(), 0,
			func(f *fakeShards) { f.partitions = 4; f.set("C#a", 16, start.Add(-time.Hour)) }, "the table's 4 partitions"},
	} {
		f := newFixture(settings())
		f.now = start.Add(c.now)
		if c.set != nil {
			c.set(f.shards)
		}
		f.must(t, c.payload)
		if len(f.shards.changes) > 0 || len(f.values("ShardCountChanges")) > 0 {
			t.Errorf("%s: %v", name, f.shards.changes)
		}
		if logs := f.logs.String(); !strings.Contains(logs, c.log) || c.log == "" && strings.Contains(logs, "shard count") {
			t.Errorf("%s: logs:\n%s", name, logs)
		}
	}
}

// TestBlind checks that an unreadable shard map is logged, and counted as a failed change.
func TestBlind(t *testing.T) {
	f := newFixture(settings())
	f.shards.fail = shard.ErrStale
	f.must(t, batch{writes: repeat("C#a#0", 800, 1), first: 1, final: true}.payload())
	if len(f.values("ShardCountChangeFailures")["hotshard-items"]) != 1 || !strings.Contains(f.logs.String(), "shard count unknown") {
		t.Errorf("metrics %v\n%s", f.sink.Data(), f.logs)
	}
}

// TestGrowthFails checks that a failed change is logged and does not fail the batch.
func TestGrowthFails(t *testing.T) {
	f := newFixture(settings())
	deps := f.deps()
	deps.Shards = failing{f.shards}
	f.handler, _ = hotkeys.New(settings(), deps)
	f.must(t, batch{writes: repeat("C#a#0", 800, 1), first: 1, final: true}.payload())
	if !strings.Contains(f.logs.String(), "shard count not changed") || len(f.values("ShardCountChangeFailures")["hotshard-items"]) != 1 || len(f.table.items) != 1 {
		t.Errorf("logs:\n%s", f.logs)
	}
}

// failing is a shard map that can be read and not changed.
type failing struct{ *fakeShards }

func (failing) change() (shardmap.Entry, error) {
	return shardmap.Entry{}, errors.Join(shard.ErrUnavailable, errPut)
}

func (f failing) GrowFrom(_ context.Context, _ shardmap.Entry, _ int, _ shardmap.Note, _ time.Time) (shardmap.Entry, error) {
	return f.change()
}

func (f failing) ShrinkFrom(_ context.Context, _ shardmap.Entry, _ int, _ shardmap.Note, _ time.Time) (shardmap.Entry, error) {
	return f.change()
}

// TestAFailedChangeIsTriedAgain checks that the next delivery retries a failed change.
func TestAFailedChangeIsTriedAgain(t *testing.T) {
	f := newFixture(settings())
	f.shards.failChange = shard.ErrUnavailable
	state := f.must(t, batch{writes: repeat("C#a#0", 800, 1), first: 1}.payload())
	f.shards.failChange = nil
	f.must(t, batch{writes: repeat("C#a#0", 1, 1), first: 801, state: state}.payload())
	if len(f.shards.changes) != 1 {
		t.Errorf("changes %v\n%s", f.shards.changes, f.logs)
	}
}

// TestPresentAndPast checks that a hot day grows regardless of writes to past days.
func TestPresentAndPast(t *testing.T) {
	f := newFixture(settings())
	all := repeat("E#e#2026-01-05#0", 750, 1)
	for day := range 20 {
		all = append(all, repeat(fmt.Sprintf("E#e#2025-12-%02d#0", day+1), 50, 1)...)
	}
	f.must(t, batch{writes: all, first: 1, final: true}.payload())
	if !slices.Equal(f.shards.changes, []string{"E#e 1>6"}) {
		t.Errorf("changes %v\n%s", f.shards.changes, f.logs)
	}
}

// TestRedeliveredRecordsCountOnce checks that redelivered records count once.
func TestRedeliveredRecordsCountOnce(t *testing.T) {
	f := newFixture(settings())
	state := f.must(t, batch{writes: repeat("C#a#0", 400, 1), first: 8}.payload())
	state = f.must(t, batch{writes: repeat("C#a#0", 500, 1), first: 8, state: state}.payload()) // 100 of them are new
	f.must(t, batch{state: state, final: true}.payload())
	if rows := f.rows(t); len(rows) != 1 || rows[0].WriteUnitsPerSecond != 50 {
		t.Errorf("rows %+v, want 500 units in 10 s", rows)
	}
}
