package main

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/grow"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// shardedOrders writes and reads the orders of a table.
type shardedOrders struct {
	Table table.Table
}

// openSharded returns the orders of the table.
func openSharded(client *dynamodb.Client) (*shardedOrders, error) {
	shards := shardmap.New(client, "examples-adopt-shard-map", shardmap.Options{})
	grower, err := grow.New(shardmap.NewChanger(client, shards, shardmap.ChangerOptions{}), grow.Options{})
	return &shardedOrders{table.Table{
		Client: client, Name: "examples-adopt", PartitionKey: "customer", SortKey: "placed",
		Shards: shards, Observer: grower, Format: shard.HashShard, PlainFirst: true,
		Layout: table.CalculatedSuffix{Time: table.SortTime("placed", shard.Millis)}}}, err
}

// Add adds an order, or replaces the order with the same key.
func (o *shardedOrders) Add(ctx context.Context, order item) error {
	return o.Table.Put(ctx, order, time.Now())
}

// OrdersOf returns a customer's orders by time.
func (o *shardedOrders) OrdersOf(ctx context.Context, customer string) ([]item, error) {
	var list []item
	for order, err := range o.Table.Query(ctx, customer, table.Span{}, time.Now()) {
		if err != nil {
			return nil, err
		}
		list = append(list, order)
	}
	return list, nil
}
