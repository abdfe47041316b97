// Command sessions tracks who is in a shop: sessions start, are renewed, and end when they expire or their users leave:
//
//	active: u-17, u-42
//	after u-42 has left: u-17
//	u-17 has a book in the cart
//	half an hour later: nobody
package main

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/pkg/shard/sessions"
	"github.com/hotshard/hotshard/pkg/shard/setup"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

func main() {
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := runVisits(ctx, dynamodb.NewFromConfig(cfg, quiet), time.Now()); err != nil {
		log.Fatal(err)
	}
}

func runVisits(ctx context.Context, client *dynamodb.Client, now time.Time) error {
	names := setup.WithPrefix("examples-")
	if err := setup.Create(ctx, client, names); err != nil {
		return err
	}
	shards := shardmap.New(client, names.ShardMap, shardmap.Options{})
	visitors := sessions.New(client, names.Items, shards, sessions.Options{})

	cart := map[string]types.AttributeValue{"cart": &types.AttributeValueMemberS{Value: "a book"}}
	for _, lease := range []sessions.Lease{
		{Group: "shop", ID: "u-17", TTL: 20 * time.Minute, Data: cart},
		{Group: "shop", ID: "u-42", TTL: 20 * time.Minute},
		{Group: "shop", ID: "u-17", TTL: 20 * time.Minute}, // renewed, keeps its data
	} {
		if _, err := visitors.Put(ctx, lease, now); err != nil {
			return err
		}
	}
	if err := printActive(ctx, visitors, "active", 2, now); err != nil {
		return err
	}
	if err := visitors.End(ctx, "shop", "u-42", now); err != nil {
		return err
	}
	if err := printActive(ctx, visitors, "after u-42 has left", 1, now); err != nil {
		return err
	}

	one, err := visitors.Get(ctx, "shop", "u-17", now)
	if err != nil {
		return err
	}
	if held, ok := one.Data["cart"].(*types.AttributeValueMemberS); ok {
		fmt.Printf("%s has %s in the cart\n", one.ID, held.Value)
	}
	return printActive(ctx, visitors, "half an hour later", 0, now.Add(30*time.Minute))
}

// printActive prints the sessions that are active at a time, after there are so many, for up to ten seconds. It reads an
// index, which on AWS is updated a moment after a write.
func printActive(ctx context.Context, visitors *sessions.Store, when string, many int, at time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		ids, err := active(ctx, visitors, at)
		switch {
		case err != nil:
			return err
		case len(ids) != many:
			time.Sleep(50 * time.Millisecond)
			continue
		case many == 0:
			ids = []string{"nobody"}
		}
		fmt.Printf("%s: %s\n", when, strings.Join(ids, ", "))
		return nil
	}
}

func active(ctx context.Context, visitors *sessions.Store, at time.Time) (ids []string, err error) {
	for one, err := range visitors.List(ctx, "shop", "", at) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, one.ID)
	}
	return ids, nil
}

// quiet prevents a warning for each error of DynamoDB Local, which sends no checksum with errors.
func quiet(o *dynamodb.Options) { o.DisableValidateResponseChecksum = true }
