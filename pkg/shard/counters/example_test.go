package counters_test

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/plan"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Many concurrent writers count the views of a page. Before a launch the counter gets enough write shards for 4,000 views a
// second, each of them a WCU. A sum reads all write shards with consistent reads.
func Example() {
	ctx, now := context.Background(), time.Now()
	client := libtest.ExampleTables()
	shards := shardmap.New(client, "hotshard-shard-map", shardmap.Options{})
	changer := libtest.Patient(shardmap.NewChanger(client, shards, shardmap.ChangerOptions{}))
	writeShards := plan.Needed(4000, plan.PartitionWriteUnits, plan.RandomShare)
	_, err := changer.Pin(ctx, counters.Key("page/home"), writeShards, shardmap.Note{By: "ops", Why: "a launch"}, now)
	fmt.Println(err)

	writer := counters.NewWriter(client, "hotshard-items", shards, counters.Options{})
	var viewers errgroup.Group
	for range 100 {
		viewers.Go(func() error { return writer.Add(ctx, "page/home", 1, now) })
	}
	fmt.Println(viewers.Wait())

	sum, err := counters.NewReader(client, "hotshard-items", shards).Sum(ctx, "page/home")
	fmt.Println(sum.Value, "views on", sum.Shards, "write shards", err)
	// Output:
	// <nil>
	// <nil>
	// 100 views on 16 write shards <nil>
}
