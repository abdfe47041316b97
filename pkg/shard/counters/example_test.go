package counters_test

import (
	"context"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// A sum reads all write shards with consistent reads.
func ExampleWriter() {
	ctx, now := context.Background(), time.Now()
	client := libtest.ExampleTables()
	shards := shardmap.New(client, "hotshard-shard-map", shardmap.Options{})
	writer := counters.NewWriter(client, "hotshard-items", shards, counters.Options{})
	for range 5 {
		if err := writer.Add(ctx, "page/home", 2, now); err != nil {
			fmt.Println(err)
		}
	}
	sum, err := counters.NewReader(client, "hotshard-items", shards).Sum(ctx, "page/home")
	fmt.Println(sum.Value, sum.Shards, err)
	// Output: 10 1 <nil>
}
