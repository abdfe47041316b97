package hotkeys_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/keyname"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
)

// TestAlarm checks that a key is reported once, by the delivery that takes it over its budget.
func TestAlarm(t *testing.T) {
	f := newFixture(settings())
	var state map[string]string
	for i, step := range []struct {
		writes
		want []float64 // all values so far
	}{
		{repeat("C#a#0", 699, 1), nil},
		{repeat("C#a#0", 1, 2), []float64{70}},
		{repeat("C#a#0", 50, 3), []float64{70}},
		{repeat("C#b#0", 50, 3), []float64{70}},
	} {
		state = f.must(t, batch{writes: step.writes, first: 1000 * i, state: state}.payload())
		if diff := cmp.Diff(step.want, f.values("KeyWriteUnitsPerSecond")["hotshard-items C#a"]); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
	if n := len(f.values("HotKeys")); n > 0 || len(f.table.items) > 0 {
		t.Errorf("a running window has %d reports", n)
	}
	f.must(t, batch{state: state, final: true}.payload())
	if v := f.values("KeyWriteUnitsPerSecond")["hotshard-items C#a"]; !slices.Equal(v, []float64{70, 75}) {
		t.Errorf("at the end: %v", v)
	}
}

// TestSaturated checks that a write shard at its partition's limit is distinguished from one that is only hot.
func TestSaturated(t *testing.T) {
	f := newFixture(settings())
	deliver(t, f, slices.Concat(repeat("C#a#0", 950, 1), repeat("C#b#0", 949, 2)), 5000)
	if v := f.values("SaturatedKeys")["hotshard-items"]; !slices.Equal(v, []float64{1}) || strings.Count(f.logs.String(), "key=C#a#0 status=saturated") != 2 {
		t.Errorf("SaturatedKeys %v\n%s", v, f.logs)
	}
	if rows := f.rows(t); rows[0].Key != "C#a#0" || rows[0].Status != heat.Saturated || rows[1].Status != heat.Hot {
		t.Errorf("rows %+v", rows)
	}
}

// TestHotPartition checks that a hot partition is distinguished from a hot key.
func TestHotPartition(t *testing.T) {
	f := newFixture(settings())
	all := slices.Concat(repeat("C#a#0", 300, 1), repeat("C#b#0", 250, 2), repeat("C#c#0", 200, 3))
	f.must(t, batch{writes: all, first: 1, final: true}.payload())
	if v := f.values("HotPartitions")["hotshard-items"]; !slices.Equal(v, []float64{1}) || !strings.Contains(f.logs.String(), `"hot partition"`) {
		t.Errorf("%v\n%s", v, f.logs)
	}
	if v := f.values("HotKeys")["hotshard-items"]; !slices.Equal(v, []float64{0}) || len(f.shards.changes) > 0 {
		t.Errorf("hot keys %v, changes %v", v, f.shards.changes)
	}
}

// TestLargeItems checks that a report has the mean weight of a key's writes.
func TestLargeItems(t *testing.T) {
	f := newFixture(settings())
	large := write{key: "C#a#0", at: 1, sk: "-", image: `{"data":{"S":"` + strings.Repeat("x", 12_000) + `"}}`}
	deliver(t, f, slices.Repeat(writes{large}, 70), 30)
	row := f.rows(t)[0]
	if row.WriteUnitsPerSecond != 84 || row.UnitsPerWrite != 12 || !strings.Contains(row.Advice(1, shard.Change{}, 250), "its ~12 KB items") {
		t.Errorf("%+v", row)
	}
}

// TestUncertainWindows checks that evicted keys that may have been hot are reported, for the table and its indexes.
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
		"room for all": {20, slices.Repeat(crowd(item), 2), nil},
		"not so heavy": {10, crowd(item)[:1000], nil},
		"hot for sure": {10, repeat("C#a#0", 5000, 1), nil},
		"of an index":  {10, crowd(func(key, _ int) write { return scored("b", "all", "p", 1, key, (key+1)%20) }), []float64{1}},
	} {
		s := settings()
		s.TopK = c.topK
		f := newFixture(s)
		f.must(t, batch{writes: c.writes, first: 1, final: true}.payload())
		if got := f.values("UncertainWindows")["hotshard-items"]; !slices.Equal(got, c.want) || strings.Contains(f.logs.String(), "hot keys may be hidden") != (c.want != nil) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestWindowsTerminatedEarly checks the metric of windows that Lambda ends because of their state's size.
func TestWindowsTerminatedEarly(t *testing.T) {
	f := newFixture(settings())
	f.must(t, batch{writes: repeat("C#a#0", 5, 1), first: 1, early: true}.payload())
	f.must(t, batch{writes: repeat("C#a#0", 5, 2), first: 6, final: true}.payload())
	if got := f.values("WindowsTerminatedEarly")["hotshard-items"]; !slices.Equal(got, []float64{1}) {
		t.Errorf("%v", got)
	}
}

// TestNames checks that hashed and hidden names are in neither metrics nor logs, and that the hash is the API's.
func TestNames(t *testing.T) {
	for naming, want := range map[keyname.Style]map[string][]float64{
		keyname.Hashed: {"hotshard-items " + keyname.Pseudonym("C#secret"): {75}}, keyname.Unnamed: {},
	} {
		s := settings()
		s.MetricNames = naming
		f := newFixture(s)
		f.must(t, batch{writes: repeat("C#secret#0", 750, 1), first: 1, final: true}.payload())
		if diff := cmp.Diff(want, f.values("KeyWriteUnitsPerSecond")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", naming, diff)
		}
		if logs := f.logs.String(); strings.Contains(logs, "secret") || !strings.Contains(logs, "hot key") || !strings.Contains(logs, "shard count changed") {
			t.Errorf("%s: logs\n%s", naming, logs)
		}
	}
}

// TestBudgetOverContainers checks that all containers share the hour's names, and that none asks again when they are
// spent.
func TestBudgetOverContainers(t *testing.T) {
	s := settings()
	s.MetricKeys, s.Control = 3, growth.Off
	one := newFixture(s)
	two := newFixture(s)
	two.table = one.table
	var err error
	if two.handler, err = hotkeys.New(s, two.deps()); err != nil {
		t.Fatal(err)
	}
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
		t.Errorf("names and further claims: %s", got)
	}
	one.now = start.Add(time.Hour)
	one.must(t, batch{writes: names("f"), first: 9000, final: true}.payload())
	if len(one.values("KeyWriteUnitsPerSecond")["hotshard-items C#f"]) != 1 {
		t.Error("the next hour has no names")
	}
}

// TestBudgetUnknown checks that a failed claim allows no name, pauses further claims, and does not fail the batch.
func TestBudgetUnknown(t *testing.T) {
	f := newFixture(settings())
	f.table.failClaims = errors.New("no updates today")
	payload := batch{writes: slices.Concat(repeat("C#a#0", 750, 1), repeat("C#b#0", 750, 1)), first: 1, final: true}.payload()
	f.must(t, payload)
	if f.table.claims != 1 || len(f.values("KeyWriteUnitsPerSecond")) > 0 || !strings.Contains(f.logs.String(), "no updates today") {
		t.Errorf("%d claims\n%s", f.table.claims, f.logs)
	}
	f.table.failClaims, f.now = nil, f.now.Add(10*time.Second)
	f.must(t, payload)
	if len(f.values("KeyWriteUnitsPerSecond")) != 2 {
		t.Errorf("%d claims later: %v", f.table.claims, f.sink.Data())
	}
}

// TestBudgetOnTheEngine checks that racing containers never exceed the budget, and get fewer names only after an error.
func TestBudgetOnTheEngine(t *testing.T) {
	db := enginetest.Client(t)
	names := enginetest.Tables(t, db)
	(&deployed{db: db, names: names}).keepAll(t)
	s := settings()
	s.MetricKeys, s.Control, s.HeatTable = 5, growth.Off, names.Heat
	type outcome struct {
		named map[string][]float64
		doubt bool
	}
	found := make(chan outcome)
	for i := range 4 {
		f := newFixture(s)
		deps := f.deps()
		deps.Heat = db
		handler, err := hotkeys.New(s, deps)
		if err != nil {
			t.Fatal(err)
		}
		f.handler = handler
		go func() {
			var all writes
			for n := range 4 {
				all = append(all, repeat(fmt.Sprintf("C#%d#0", 3*i+n), 750, 1)...)
			}
			_, _ = f.handler.Invoke(t.Context(), batch{writes: all, first: 1, final: true, shard: fmt.Sprint(i)}.payload())
			found <- outcome{f.values("KeyWriteUnitsPerSecond"), strings.Contains(f.logs.String(), "budget of metric names unknown")}
		}()
	}
	all, doubt := make(map[string]bool), false
	for range 4 {
		one := <-found
		doubt = doubt || one.doubt
		for name := range one.named {
			all[name] = true
		}
	}
	if len(all) > 5 || len(all) < 5 && !doubt {
		t.Errorf("names %v", all)
	}
}
