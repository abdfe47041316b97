package table_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// TestWrappedFixedCountsAreFixed checks that layouts accept the same counts with and without a wrapper.
func TestWrappedFixedCountsAreFixed(t *testing.T) {
	sharded := table.Table{Client: &shaky{}, Name: "orders", PartitionKey: "customer", SortKey: "placed"}
	it := table.Item{"customer": libtest.Str("a"), "placed": libtest.Str("2326-01-05T12:00:00.000Z")}
	for name, c := range map[string]struct {
		shards table.Counts
		layout table.Layout
		reject bool
	}{
		"minimum":            {table.AtLeast{N: 3, Counts: table.Fixed(10)}, table.CalculatedSuffix{}, false},
		"ahead":              {table.AtLeast{N: 1, Counts: table.Fixed(2)}, table.HybridBuckets{Bucket: shard.Day}, false},
		"changing, minimum":  {table.AtLeast{N: 3, Counts: &libtest.Steps{}}, table.CalculatedSuffix{}, true},
		"minimum 0":          {table.AtLeast{Counts: table.Fixed(1)}, table.RandomSuffix{}, true},
		"minimum of nothing": {table.AtLeast{N: 1}, table.RandomSuffix{}, true},
	} {
		sharded.Shards, sharded.Layout = c.shards, c.layout
		if err := sharded.Put(t.Context(), it, libtest.Epoch); errors.Is(err, shard.ErrMisused) != c.reject || !c.reject && err != nil {
			t.Errorf("%s: error %v, want ErrMisused: %v", name, err, c.reject)
		}
	}
}

// TestMinimumOfResetName checks that a reset or forgotten name has the minimum count again, also after its next growth.
func TestMinimumOfResetName(t *testing.T) {
	t.Parallel()
	d := libtest.Deploy(t)
	clock := libtest.Later
	view := shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})
	sharded := table.Table{
		Client: d.Client, Name: libtest.Theirs(t, d.Client, "S"), PartitionKey: "customer", SortKey: "placed",
		Shards: table.AtLeast{N: 10, Counts: view}, Layout: table.CalculatedSuffix{Time: table.SortTime("placed", "")},
	}
	changer := libtest.Patient(shardmap.NewChanger(d.Client, view, shardmap.ChangerOptions{}))
	var keys []table.Item
	step := func(change func() error) {
		t.Helper()
		if err := change(); err != nil {
			t.Fatal(err)
		}
		clock = clock.Add(time.Minute)
		for _, key := range keys {
			if _, err := sharded.Get(t.Context(), key, clock); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 20 {
			key := table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str(shard.Millis.Key(clock, "#", fmt.Sprint(i)))}
			if err := sharded.Put(t.Context(), key, clock); err != nil {
				t.Fatal(err)
			}
			keys = append(keys, key)
		}
	}
	step(func() error { return nil })
	step(func() error {
		_, err := changer.Pin(t.Context(), "acme", 40, shardmap.Note{By: "test"}, clock)
		return err
	})
	keys = keys[:20] // a reset loses the places of the others
	step(func() error {
		_, err := changer.Reset(t.Context(), "acme", clock)
		return err
	})
	step(func() error { return changer.Forget(t.Context(), "acme", clock) })
	step(func() error {
		_, err := changer.Pin(t.Context(), "acme", 30, shardmap.Note{By: "test"}, clock)
		return err
	})
}

// TestMinimumOfHistory checks that AtLeast returns N before the map's first change, and no lower count later.
func TestMinimumOfHistory(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	counts := table.AtLeast{N: 10, Counts: libtest.Steps{History: shard.History{{At: at(100), Count: 4}, {At: at(200), Count: 40}}}}
	entry, err := counts.Lookup(t.Context(), "x", at(300))
	if err != nil || entry.Most() != 40 {
		t.Fatal(entry, err)
	}
	for s, want := range map[int64]int{1: 10, 150: 10, 250: 40} {
		if got := entry.History.At(at(s)); got != want {
			t.Errorf("at %d: %d write shards, want %d", s, got, want)
		}
	}
}

// forgotten are counts whose old changes are no longer known.
type forgotten struct{ libtest.Steps }

func (f forgotten) Lookup(ctx context.Context, key string, now time.Time) (shardmap.Entry, error) {
	entry, err := f.Steps.Lookup(ctx, key, now)
	entry.Forgotten = true
	return entry, err
}

// TestMinimumOfForgottenHistory checks that AtLeast has no change before those of an entry that has forgotten older ones,
// unless it has none.
func TestMinimumOfForgottenHistory(t *testing.T) {
	for want, history := range map[string]shard.History{"[10]": nil, "[10 40]": {{At: time.Unix(100, 0), Count: 4}, {At: time.Unix(200, 0), Count: 40}}} {
		entry, err := table.AtLeast{N: 10, Counts: forgotten{libtest.Steps{History: history}}}.Lookup(t.Context(), "x", time.Unix(300, 0))
		var counts []int
		for _, change := range entry.History {
			counts = append(counts, change.Count)
		}
		if err != nil || fmt.Sprint(counts) != want {
			t.Errorf("%v: counts %v, %v; want %s", history, counts, err, want)
		}
	}
}
