// Command counters counts the views of a page by many concurrent writers. Before the peak it gives the counter enough
// write shards:
//
//	page/home has 100 views, on 16 write shards
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/plan"
	"github.com/hotshard/hotshard/pkg/shard/setup"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

func main() {
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := count(ctx, dynamodb.NewFromConfig(cfg, quiet)); err != nil {
		log.Fatal(err)
	}
}

func count(ctx context.Context, client *dynamodb.Client) error {
	names := setup.WithPrefix("examples-")
	if err := setup.Create(ctx, client, names); err != nil {
		return err
	}
	shards := shardmap.New(client, names.ShardMap, shardmap.Options{})

	// 4,000 views a second are expected, each of them a WCU. A repeated Pin changes nothing.
	writeShards := plan.Needed(4000, plan.PartitionWriteUnits, plan.RandomShare)
	changer := shardmap.NewChanger(client, shards, shardmap.ChangerOptions{})
	_, err := changer.Pin(ctx, counters.Key("page/home"), writeShards, shardmap.Note{By: "ops", Why: "a launch"}, time.Now())
	if err != nil {
		return err
	}

	writer := counters.NewWriter(client, names.Items, shards, counters.Options{})
	var viewers errgroup.Group
	for range 100 {
		viewers.Go(func() error { return writer.Add(ctx, "page/home", 1, time.Now()) })
	}
	if err := viewers.Wait(); err != nil {
		return err
	}

	sum, err := counters.NewReader(client, names.Items, shards).Sum(ctx, "page/home")
	if err != nil {
		return err
	}
	fmt.Printf("page/home has %v views, on %d write shards\n", sum.Value, sum.Shards)
	return nil
}

// quiet prevents a warning for each error of DynamoDB Local, which sends no checksum with errors.
func quiet(o *dynamodb.Options) { o.DisableValidateResponseChecksum = true }
