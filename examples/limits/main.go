// Command limits lets a user try to log in five times a minute, over all processes that check concurrently:
//
//	5 of 20 tries are allowed
//	a minute later: allowed, and 4 more
package main

import (
	"context"
	"fmt"
	"log"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/pkg/shard/limits"
	"github.com/hotshard/hotshard/pkg/shard/setup"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

func main() {
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := logIn(ctx, dynamodb.NewFromConfig(cfg, quiet), time.Now()); err != nil {
		log.Fatal(err)
	}
}

var names = setup.WithPrefix("examples-")

func logIn(ctx context.Context, client *dynamodb.Client, now time.Time) error {
	if err := setup.Create(ctx, client, names); err != nil {
		return err
	}
	limit := limits.Limit{Key: "login/ann", Max: 5, Window: time.Minute}
	processes := []*limits.Limiter{newLimiter(client), newLimiter(client)}

	var allowed atomic.Int64
	var tries errgroup.Group
	for i := range 20 {
		tries.Go(func() error {
			verdict, err := processes[i%2].Hit(ctx, limit, now)
			if verdict.Allowed {
				allowed.Add(1)
			}
			return err
		})
	}
	if err := tries.Wait(); err != nil {
		return err
	}
	fmt.Println(allowed.Load(), "of 20 tries are allowed")

	verdict, err := processes[0].Hit(ctx, limit, now.Add(time.Minute))
	if err != nil {
		return err
	}
	if verdict.Allowed {
		fmt.Println("a minute later: allowed, and", verdict.Remaining, "more")
	}
	return nil
}

// newLimiter returns one process's limiter. Limiters share only the tables.
func newLimiter(client *dynamodb.Client) *limits.Limiter {
	shards := shardmap.New(client, names.ShardMap, shardmap.Options{})
	return limits.New(client, names.Items, shards, limits.Options{})
}

// quiet prevents a warning for each error of DynamoDB Local, which sends no checksum with errors.
func quiet(o *dynamodb.Options) { o.DisableValidateResponseChecksum = true }
