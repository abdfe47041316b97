package table_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// TestPutRejectsTimesTooFarAhead checks that a put is rejected if its time is more than MaxAhead ahead. The count at that
// time may not be known yet.
func TestPutRejectsTimesTooFarAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sharded := table.Table{
			Client: &shaky{}, Name: "orders", PartitionKey: "customer", SortKey: "placed", Shards: &libtest.Steps{},
			Layout: table.TimeBuckets{Bucket: shard.Day},
		}
		item := func(ahead time.Duration) table.Item {
			return table.Item{"customer": libtest.Str("a"), "placed": libtest.Str(shard.Millis.Format(libtest.Epoch.Add(ahead)))}
		}
		if err := sharded.Put(t.Context(), item(shardmap.MaxAhead), libtest.Epoch); err != nil {
			t.Errorf("MaxAhead ahead: %v", err)
		}
		if err := sharded.Put(t.Context(), item(shardmap.MaxAhead+time.Millisecond), libtest.Epoch); !errors.Is(err, shard.ErrMisused) {
			t.Errorf("1 ms more than MaxAhead ahead: error %v, want ErrMisused", err)
		}
	})
}

// slow is a shard map whose lookups take eight seconds and return the entry at their begin.
type slow struct{}

func (slow) Lookup(context.Context, string, time.Time) (shardmap.Entry, error) {
	time.Sleep(8 * time.Second)
	return shardmap.Entry{}, nil
}

// TestAheadIsMeasuredBeforeLookup checks that a put's time is compared with the time before the lookup.
func TestAheadIsMeasuredBeforeLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, layout := range []table.Layout{table.CalculatedSuffix{Time: table.SortTime("placed", "")}, table.TimeBuckets{Bucket: shard.Day, By: "placed"}} {
			sharded := table.Table{
				Client: &shaky{}, Name: "orders", PartitionKey: "customer", SortKey: "placed", Layout: layout, Shards: slow{},
			}
			it := table.Item{"customer": libtest.Str("a"), "placed": libtest.Str(shard.Millis.Format(libtest.Epoch.Add(9 * time.Second)))}
			if err := sharded.Put(t.Context(), it, libtest.Epoch); !errors.Is(err, shard.ErrMisused) {
				t.Errorf("%T: error %v, want ErrMisused", layout, err)
			}
		}
	})
}
