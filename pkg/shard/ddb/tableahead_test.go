package ddb_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// TestAheadOfAChange: with a count that changes, an item may not lie so far ahead
// that the count at its time is not known yet.
func TestAheadOfAChange(t *testing.T) {
	table := ddb.Table{
		Client: &shaky{}, Name: "orders", PartitionKey: "customer", SortKey: "placed", Shards: &steps{},
		Layout: ddb.TimeBuckets{Bucket: shard.Day}, Now: func() time.Time { return epoch },
	}
	item := func(ahead time.Duration) ddb.Item {
		return ddb.Item{"customer": str("a"), "placed": str(shard.Millis.Format(epoch.Add(ahead)))}
	}
	if err := table.Put(t.Context(), item(ddb.MaxAhead)); err != nil {
		t.Error(err)
	}
	if err := table.Put(t.Context(), item(ddb.MaxAhead+time.Millisecond)); !errors.Is(err, ddb.ErrMisused) {
		t.Error(err)
	}
}

// slow is a shard map whose look-ups take eight seconds, and say what was at their begin.
type slow struct{ clock *time.Time }

func (s slow) Lookup(context.Context, string, time.Time) (ddb.Entry, error) {
	*s.clock = s.clock.Add(8 * time.Second)
	return ddb.Entry{}, nil
}

// TestAheadAtTheBegin: how far ahead an item is counts from before the look-up.
func TestAheadAtTheBegin(t *testing.T) {
	for _, layout := range []ddb.Layout{ddb.CalculatedSuffix{Time: ddb.SortTime("placed", "")}, ddb.TimeBuckets{Bucket: shard.Day, By: "placed"}} {
		clock := epoch
		table := ddb.Table{
			Client: &shaky{}, Name: "orders", PartitionKey: "customer", SortKey: "placed", Layout: layout,
			Shards: slow{&clock}, Now: func() time.Time { return clock },
		}
		it := ddb.Item{"customer": str("a"), "placed": str(shard.Millis.Format(epoch.Add(12 * time.Second)))}
		if err := table.Put(t.Context(), it); !errors.Is(err, ddb.ErrMisused) {
			t.Errorf("%T: %v", layout, err)
		}
	}
}
