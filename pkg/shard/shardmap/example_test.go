package shardmap_test

import (
	"context"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// Many programs share the shard counts of a map; a change is known to all within
// seconds, and old items stay where they are.
func ExampleMap() {
	ctx, now := context.Background(), time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	client := libtest.ExampleTables()
	shards := shardmap.New(client, "hotshard-shard-map", shardmap.Options{})
	orders := table.Table{
		Client: client, Name: "hotshard-items", PartitionKey: "pk", SortKey: "sk",
		Shards: table.Namespace{Prefix: "orders/", Counts: shards}, Layout: table.RandomSuffix{},
	}
	fmt.Println(orders.Put(ctx, table.Item{"pk": libtest.Str("acme"), "sk": libtest.Str("before")}, now))
	changer := libtest.Patient(shardmap.NewChanger(client, shards, shardmap.ChangerOptions{}))
	entry, err := changer.Pin(ctx, "orders/acme", 20, shardmap.Note{By: "me", Why: "a sale"}, now)
	fmt.Println(entry.History.Newest(), err)
	now = entry.Effective() // LeadTime later: all programs know of it by then
	fmt.Println(orders.Put(ctx, table.Item{"pk": libtest.Str("acme"), "sk": libtest.Str("with twenty")}, now))
	fmt.Println(orders.Count(ctx, "acme", table.Span{}, now))
	// Output:
	// <nil>
	// 20 <nil>
	// <nil>
	// 2 <nil>
}
