package shardmap_test

import (
	"context"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// Many programs share the shard counts of a map. All know a change within seconds, and
// stored items stay where they are.
func ExampleMap() {
	ctx, now := context.Background(), time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	client := libtest.ExampleTables()
	shards := shardmap.New(client, "hotshard-shard-map", shardmap.Options{})
	orders := table.Table{
		Client: client, Name: "hotshard-items", PartitionKey: "pk", SortKey: "sk",
		Shards: shards, Layout: table.RandomSuffix{},
	}
	fmt.Println(orders.Put(ctx, table.Item{"pk": libtest.Str("acme"), "sk": libtest.Str("before")}, now))
	changer := libtest.Patient(shardmap.NewChanger(client, shards, shardmap.ChangerOptions{}))
	entry, err := changer.Pin(ctx, "acme", 20, shardmap.Note{By: "me", Why: "a sale"}, now)
	fmt.Println(entry.History.Newest(), err)
	now = entry.Effective() // LeadTime later, when all programs know the change
	fmt.Println(orders.Put(ctx, table.Item{"pk": libtest.Str("acme"), "sk": libtest.Str("with twenty")}, now))
	page, err := orders.Page(ctx, "acme", table.Span{}, now)
	fmt.Println(len(page.Items), err)
	// Output:
	// <nil>
	// 20 <nil>
	// <nil>
	// 2 <nil>
}
