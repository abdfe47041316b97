package ddb_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/lane"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// TestFixedCountsAreSeenThrough: a wrapper around a fixed count changes nothing of what
// a layout takes.
func TestFixedCountsAreSeenThrough(t *testing.T) {
	table := ddb.Table{Client: &shaky{}, Name: "orders", PartitionKey: "customer", SortKey: "placed"}
	it := ddb.Item{"customer": str("a"), "placed": str("2326-01-05T12:00:00.000Z")}
	for name, c := range map[string]struct {
		shards ddb.Counts
		layout ddb.Layout
		refuse bool
	}{
		"suffix":          {ddb.Namespace{Prefix: "x/", Counts: ddb.Fixed(10)}, ddb.CalculatedSuffix{}, false},
		"floor":           {ddb.AtLeast{N: 3, Counts: ddb.Fixed(10)}, ddb.CalculatedSuffix{}, false},
		"unsharded":       {ddb.Namespace{Prefix: "x/", Counts: ddb.Fixed(1)}, ddb.Unsharded{}, false},
		"ahead":           {ddb.Namespace{Prefix: "x/", Counts: ddb.Fixed(2)}, ddb.HybridBuckets{Bucket: shard.Day}, false},
		"changing":        {ddb.Namespace{Prefix: "x/", Counts: &steps{}}, ddb.CalculatedSuffix{}, true},
		"changing, floor": {ddb.AtLeast{N: 3, Counts: &steps{}}, ddb.CalculatedSuffix{}, true},
		"unsharded, 3":    {ddb.AtLeast{N: 3, Counts: ddb.Fixed(1)}, ddb.Unsharded{}, true},
		"nothing":         {ddb.Namespace{Prefix: "x/"}, ddb.RandomSuffix{}, true},
		"at least none":   {ddb.AtLeast{Counts: ddb.Fixed(1)}, ddb.RandomSuffix{}, true},
		"at least, of":    {ddb.AtLeast{N: 1}, ddb.RandomSuffix{}, true},
	} {
		table.Shards, table.Layout = c.shards, c.layout
		if err := table.Put(t.Context(), it); errors.Is(err, ddb.ErrMisused) != c.refuse || !c.refuse && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFromAFixedCountToAMap: nothing that was written under the fixed count is hidden
// by the map, whether it knows the name or not, and grows or shrinks it.
func TestFromAFixedCountToAMap(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	for i, layout := range []ddb.Layout{
		ddb.RandomSuffix{}, ddb.CalculatedSuffix{By: "id", Time: ddb.SortTime("placed", "")}, ddb.TimeBuckets{Bucket: shard.Hour, By: "id"},
	} {
		w := &growing{d: d, name: fmt.Sprint("acme", i), clock: epoch, found: i > 0}
		w.table = ddb.Table{
			Client: d.client, Name: theirs(t, d.client, "S"), PartitionKey: "customer", SortKey: "placed",
			Shards: ddb.Fixed(10), Layout: layout, Now: func() time.Time { return w.clock },
		}
		w.step(t)
		w.table.Shards = ddb.AtLeast{N: 10, Counts: ddb.NewMap(d.client, d.names.ShardMap)}
		w.step(t)
		for _, count := range []int{40, 2, 30} {
			changer := patient(ddb.NewMapChanger(d.client, ddb.NewMap(d.client, d.names.ShardMap), ddb.ChangerOptions{}))
			if _, err := changer.Pin(t.Context(), w.name, count, ddb.Note{By: "test"}, w.clock); err != nil {
				t.Fatal(err)
			}
			w.clock = w.clock.Add(time.Minute)
			w.step(t)
		}
	}
}

// growing is a table whose count changes.
type growing struct {
	d     *deployment
	table ddb.Table
	name  string
	clock time.Time
	found bool
	keys  []ddb.Item
}

// step writes some items, and what can be found once again, and reads all.
func (w *growing) step(t *testing.T) {
	t.Helper()
	for range lane.Runs(6, 15) {
		id := fmt.Sprintf("%05d", len(w.keys))
		w.keys = append(w.keys, ddb.Item{"customer": str(w.name), "placed": str(shard.Millis.Key(w.clock, "#", id)), "id": str(id)})
		if err := w.table.Put(t.Context(), w.keys[len(w.keys)-1]); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range w.keys {
		if !w.found {
			continue
		}
		if err := w.table.Put(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		if _, err := w.table.Get(t.Context(), key); err != nil {
			t.Fatalf("%T: %v", w.table.Layout, err)
		}
	}
	got, err := w.table.Count(t.Context(), w.name, ddb.During(shard.Millis, epoch, w.clock.Add(time.Minute)))
	if err != nil || got != len(w.keys) {
		t.Fatalf("%T: %d of %d, %v", w.table.Layout, got, len(w.keys), err)
	}
}

// TestFloorOfAResetName: a name that is reset, as one that is forgotten then, is where it
// was before the map had it, also when it is used again.
func TestFloorOfAResetName(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	clock := epoch
	view := ddb.NewMap(d.client, d.names.ShardMap)
	table := ddb.Table{
		Client: d.client, Name: theirs(t, d.client, "S"), PartitionKey: "customer", SortKey: "placed",
		Shards: ddb.AtLeast{N: 10, Counts: view}, Layout: ddb.CalculatedSuffix{Time: ddb.SortTime("placed", "")},
		Now: func() time.Time { return clock },
	}
	changer := patient(ddb.NewMapChanger(d.client, view, ddb.ChangerOptions{}))
	var keys []ddb.Item
	step := func(change func() error) {
		t.Helper()
		if err := change(); err != nil {
			t.Fatal(err)
		}
		clock = clock.Add(time.Minute)
		for _, key := range keys {
			if _, err := table.Get(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 20 {
			key := ddb.Item{"customer": str("acme"), "placed": str(shard.Millis.Key(clock, "#", fmt.Sprint(i)))}
			if err := table.Put(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			keys = append(keys, key)
		}
	}
	step(func() error { return nil })
	step(func() error {
		_, err := changer.Pin(t.Context(), "acme", 40, ddb.Note{By: "test"}, clock)
		return err
	})
	keys = keys[:20] // a reset forgets where the others are
	step(func() error {
		_, err := changer.Reset(t.Context(), "acme", clock)
		return err
	})
	step(func() error { return changer.Forget(t.Context(), "acme", clock) })
	step(func() error {
		_, err := changer.Pin(t.Context(), "acme", 30, ddb.Note{By: "test"}, clock)
		return err
	})
}

// TestFloorOfAHistory: before the map's first change there are N, and never fewer.
func TestFloorOfAHistory(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	counts := ddb.AtLeast{N: 10, Counts: steps{shard.History{{At: at(100), Count: 4}, {At: at(200), Count: 40}}}}
	entry, err := counts.Lookup(t.Context(), "x", at(300))
	if err != nil || entry.Most() != 40 {
		t.Fatal(entry, err)
	}
	for s, want := range map[int64]int{1: 10, 150: 10, 250: 40} {
		if got := entry.History.At(at(s)); got != want {
			t.Errorf("at %d: %d, want %d", s, got, want)
		}
	}
}
