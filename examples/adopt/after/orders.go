// Package orders writes and reads the orders of package before. A customer with too many for a partition gets several
// partition keys.
package orders

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/grow"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// Item is an order.
type Item = map[string]types.AttributeValue

// Orders writes and reads the orders of a table.
type Orders struct {
	Table table.Table
}

// Open returns the orders of the table.
func Open(client *dynamodb.Client) (*Orders, error) {
	shards := shardmap.New(client, "examples-adopt-shard-map", shardmap.Options{})
	grower, err := grow.New(shardmap.NewChanger(client, shards, shardmap.ChangerOptions{}), grow.Options{})
	return &Orders{table.Table{
		Client: client, Name: "examples-adopt", PartitionKey: "customer", SortKey: "placed",
		Shards: shards, Observer: grower, Format: shard.HashShard, PlainFirst: true,
		Layout: table.CalculatedSuffix{Time: table.SortTime("placed", shard.Millis)}}}, err
}

// Add adds an order, and replaces one with the same key.
func (o *Orders) Add(ctx context.Context, order Item) error {
	return o.Table.Put(ctx, order, time.Now())
}

// Of returns a customer's orders by time.
func (o *Orders) Of(ctx context.Context, customer string) ([]Item, error) {
	var list []Item
	for order, err := range o.Table.Query(ctx, customer, table.Span{}, time.Now()) {
		if err != nil {
			return nil, err
		}
		list = append(list, order)
	}
	return list, nil
}
