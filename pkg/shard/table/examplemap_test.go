package table_test

import (
	"context"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// A table of ten write shards starts to use a shard map that has none of its names. Stored
// items are found, and one name grows.
func ExampleAtLeast() {
	ctx, now := context.Background(), time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	client := libtest.ExampleTables()
	orders := table.Table{
		Client: client, Name: "hotshard-items", PartitionKey: "pk", SortKey: "sk",
		Shards: table.Fixed(10), Layout: table.TimeBuckets{Bucket: shard.Day, By: "sk"},
	}
	old := table.Item{"pk": libtest.Str("acme"), "sk": libtest.Str(shard.Millis.Key(now, "#", "order-1"))}
	fmt.Println(orders.Put(ctx, old, now))

	shards := shardmap.New(client, "hotshard-shard-map", shardmap.Options{})
	orders.Shards = table.AtLeast{N: 10, Counts: shards} // deployed everywhere

	entry, err := libtest.Patient(shardmap.NewChanger(client, shards, shardmap.ChangerOptions{})).Pin(ctx, "acme", 40, shardmap.Note{By: "me"}, now)
	fmt.Println(entry.History.Newest(), err)
	now = entry.Effective().Add(time.Minute)
	fmt.Println(orders.Put(ctx, table.Item{"pk": libtest.Str("acme"), "sk": libtest.Str(shard.Millis.Key(now, "#", "order-2"))}, now))
	_, err = orders.Get(ctx, old, now)
	fmt.Println(err)
	// Output:
	// <nil>
	// 40 <nil>
	// <nil>
	// <nil>
}
