package hotkeys_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/internal/test/enginetest"
)

// TestSaturated checks that a write shard at 95 % of its partition's limit is saturated, and one just below is only
// hot.
func TestSaturated(t *testing.T) {
	f := newFixture(settings())
	deliver(t, f, slices.Concat(repeat("C#a#0", 950, 1), repeat("C#b#0", 949, 2)), 5000)
	if v := f.values("SaturatedKeys")["hotshard-items"]; !slices.Equal(v, []float64{1}) || strings.Count(f.logs.String(), "key=C#a#0 status=saturated") != 2 {
		t.Errorf("SaturatedKeys %v, want 1, of C#a#0\n%s", v, f.logs)
	}
	if rows := f.rows(t); rows[0].Key != "C#a#0" || rows[0].Status != heat.Saturated || rows[1].Status != heat.Hot {
		t.Errorf("rows %+v, want C#a#0 saturated and the next one hot", rows)
	}
}

// TestHotPartition checks that warm keys that fill a stream shard are reported as a hot partition, and not as hot keys.
func TestHotPartition(t *testing.T) {
	f := newFixture(settings())
	all := slices.Concat(repeat("C#a#0", 300, 1), repeat("C#b#0", 250, 2), repeat("C#c#0", 200, 3))
	f.must(t, batch{writes: all, first: 1, final: true}.payload())
	if v := f.values("HotPartitions")["hotshard-items"]; !slices.Equal(v, []float64{1}) || !strings.Contains(f.logs.String(), `"hot partition" table=hotshard-items streamShard=`) {
		t.Errorf("HotPartitions %v, want 1\n%s", v, f.logs)
	}
	if v := f.values("HotKeys")["hotshard-items"]; !slices.Equal(v, []float64{0}) || len(f.shards.changes) > 0 {
		t.Errorf("HotKeys %v, changes %v; want 0 and none", v, f.shards.changes)
	}
}

// TestUncertainWindows checks that a window is reported as uncertain if an evicted key of the table or of an index may
// have been hot.
func TestUncertainWindows(t *testing.T) {
	crowd := func(make func(key, n int) write) (all writes) {
		for n := range 4000 {
			all = append(all, make(n%20, n))
		}
		return all
	}
	item := func(key, _ int) write { return write{key: fmt.Sprintf("C#%d#0", key), at: 1} }
	for name, c := range map[string]struct {
		topK   int
		writes writes
		want   []float64
	}{
		"crowded":      {10, slices.Repeat(crowd(item), 2), []float64{1}},
		"all keys fit": {20, slices.Repeat(crowd(item), 2), nil},
		"not so heavy": {10, crowd(item)[:1000], nil},
		"hot for sure": {10, repeat("C#a#0", 5000, 1), nil},
		"of an index":  {10, crowd(func(key, _ int) write { return scored("b", "all", "p", 1, key, (key+1)%20) }), []float64{1}},
	} {
		s := settings()
		s.TopK = c.topK
		f := newFixture(s)
		f.must(t, batch{writes: c.writes, first: 1, final: true}.payload())
		if got := f.values("UncertainWindows")["hotshard-items"]; !slices.Equal(got, c.want) || strings.Contains(f.logs.String(), "hot keys may be hidden") != (c.want != nil) {
			t.Errorf("%s: UncertainWindows %v, want %v\n%s", name, got, c.want, f.logs)
		}
	}
}

// TestMetricNames checks that with hashed or no names, a key's name is in neither metrics nor logs. The hash is
// that of [display.Pseudonym].
func TestMetricNames(t *testing.T) {
	for naming, want := range map[display.Style]map[string][]float64{
		display.Hashed: {"hotshard-items " + display.Pseudonym("C#secret"): {75}}, display.Unnamed: {},
	} {
		s := settings()
		s.MetricNames = naming
		f := newFixture(s)
		f.must(t, batch{writes: repeat("C#secret#0", 750, 1), first: 1, final: true}.payload())
		if diff := cmp.Diff(want, f.values("KeyWriteUnitsPerSecond")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", naming, diff)
		}
		if logs := f.logs.String(); strings.Contains(logs, "secret") || !strings.Contains(logs, "hot key") || !strings.Contains(logs, "shard count changed") {
			t.Errorf("%s: want a hot key, a change and no secret in the logs:\n%s", naming, logs)
		}
	}
}

// TestBudgetOverContainers checks that all containers share an hour's budget of metric names, and that none claims a
// name once it is used up. The next hour has a new budget.
func TestBudgetOverContainers(t *testing.T) {
	s := settings()
	s.MetricKeys, s.Control = 3, growth.Off
	one := newFixture(s)
	two := newFixture(s)
	two.table = one.table
	two.rebuild(t, s, nil)
	names := func(keys ...string) (all writes) {
		for _, k := range keys {
			all = append(all, repeat("C#"+k+"#0", 750, 1)...)
		}
		return all
	}
	one.must(t, batch{writes: names("a", "b"), first: 1, final: true}.payload())
	two.must(t, batch{writes: names("b", "c", "d"), first: 1, final: true}.payload())
	one.must(t, batch{writes: names("d", "c", "e"), first: 5000, final: true}.payload())
	claims := one.table.claims
	two.must(t, batch{writes: names("d", "e", "f", "a"), first: 5000, final: true}.payload())
	if got := fmt.Sprint(len(one.values("KeyWriteUnitsPerSecond")), len(two.values("KeyWriteUnitsPerSecond")), one.table.claims-claims); got != "3 3 0" {
		t.Errorf("names of each container, and claims after the budget was used up: %s, want 3 3 0", got)
	}
	one.now = start.Add(time.Hour)
	one.must(t, batch{writes: names("f"), first: 9000, final: true}.payload())
	if len(one.values("KeyWriteUnitsPerSecond")["hotshard-items C#f"]) != 1 {
		t.Errorf("metrics %v in the next hour, want one of C#f", one.values("KeyWriteUnitsPerSecond"))
	}
}

// TestBudgetUnknown checks that a failed claim is logged, allows no name, pauses further claims for some seconds, and
// does not fail the batch.
func TestBudgetUnknown(t *testing.T) {
	f := newFixture(settings())
	f.table.failClaims = errors.New("no updates today")
	payload := batch{writes: slices.Concat(repeat("C#a#0", 750, 1), repeat("C#b#0", 750, 1)), first: 1, final: true}.payload()
	f.must(t, payload)
	if f.table.claims != 1 || len(f.values("KeyWriteUnitsPerSecond")) > 0 || !strings.Contains(f.logs.String(), "no updates today") {
		t.Errorf("%d claims, want 1; metrics %v, want none\n%s", f.table.claims, f.values("KeyWriteUnitsPerSecond"), f.logs)
	}
	f.table.failClaims, f.now = nil, f.now.Add(10*time.Second)
	f.must(t, payload)
	if len(f.values("KeyWriteUnitsPerSecond")) != 2 {
		t.Errorf("ten seconds later: metrics %v, want two keys", f.values("KeyWriteUnitsPerSecond"))
	}
}

// TestBudgetOnTheEngine checks that two containers use the whole budget in DynamoDB Local, unless a claim fails, and no
// more.
func TestBudgetOnTheEngine(t *testing.T) {
	db := enginetest.Client(t)
	names := enginetest.Tables(t, db)
	(&deployed{db: db, names: names}).keepAll(t)
	s := settings()
	s.MetricKeys, s.Control, s.HeatTable = 4, growth.Off, names.Heat
	all, doubt := make(map[string][]float64), false
	for _, container := range []string{"abc", "bcdef"} {
		f := newFixture(s)
		f.rebuild(t, s, func(deps *hotkeys.Deps) { deps.Heat = db })
		var w writes
		for _, key := range container {
			w = append(w, repeat(fmt.Sprintf("C#%c#0", key), 750, 1)...)
		}
		f.must(t, batch{writes: w, first: 1, final: true, shard: container}.payload())
		maps.Copy(all, f.values("KeyWriteUnitsPerSecond"))
		doubt = doubt || strings.Contains(f.logs.String(), "budget of metric names unknown")
	}
	if len(all) > 4 || len(all) < 4 && !doubt {
		t.Errorf("names %v, want 4; a claim failed: %v", all, doubt)
	}
}
