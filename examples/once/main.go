// Command once accepts an order that its sender repeats after lost responses. It counts once, and another order with
// its key is rejected:
//
//	order-1234: accepted
//	order-1234: accepted before
//	order-1234: accepted before
//	order-1234: the key was used for another call
//	orders of today: 1
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/setup"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

func main() {
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := takeOrders(ctx, dynamodb.NewFromConfig(cfg, quiet)); err != nil {
		log.Fatal(err)
	}
}

func takeOrders(ctx context.Context, client *dynamodb.Client) error {
	names := setup.WithPrefix("examples-")
	if err := setup.Create(ctx, client, names); err != nil {
		return err
	}
	shards := shardmap.New(client, names.ShardMap, shardmap.Options{})
	calls := once.New(client, names.Items, once.Options{})
	writer := counters.NewWriter(client, names.Items, shards, counters.Options{})

	for _, body := range []string{"a book", "a book", "a book", "two books"} {
		digest := sha256.Sum256([]byte(body))
		call := once.Call{Key: "order-1234", Digest: digest[:], Answer: []byte("accepted")}
		before, err := calls.Do(ctx, call, time.Now(), func(ctx context.Context) ([]shardmap.Write, error) {
			return []shardmap.Write{writer.AddTransact(ctx, "orders", 1, time.Now())}, nil
		})
		switch {
		case errors.Is(err, once.ErrOtherCall):
			fmt.Println("order-1234:", once.ErrOtherCall)
		case err != nil:
			return err
		case before != nil:
			fmt.Printf("order-1234: %s before\n", before)
		default:
			fmt.Printf("order-1234: %s\n", call.Answer)
		}
	}

	sum, err := counters.NewReader(client, names.Items, shards).Sum(ctx, "orders")
	if err != nil {
		return err
	}
	fmt.Println("orders of today:", sum.Value)
	return nil
}

// quiet prevents a warning for each error of DynamoDB Local, which sends no checksum with errors.
func quiet(o *dynamodb.Options) { o.DisableValidateResponseChecksum = true }
