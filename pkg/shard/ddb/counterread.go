package ddb

import (
	"context"
	"fmt"
	"math/big"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// BatchGetter is what CounterReader and Summaries call of DynamoDB.
type BatchGetter interface {
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
}

// CounterReader sums the write shards that a CounterWriter writes.
type CounterReader struct {
	client BatchGetter
	table  string
	shards *Map
}

// NewCounterReader returns a CounterReader over the items table.
func NewCounterReader(client BatchGetter, table string, shards *Map) *CounterReader {
	return &CounterReader{client: client, table: table, shards: shards}
}

// Sum is a counter's value by strongly consistent reads.
type Sum struct {
	Value  *big.Int
	Shards int // the newest shard count
}

// Sum reads all the write shards that the counter ever had, one read unit each.
// A counter never written is 0.
func (c *CounterReader) Sum(ctx context.Context, name string) (Sum, error) {
	entry, err := c.shards.Read(ctx, counterKey(name))
	if err != nil {
		return Sum{}, fmt.Errorf("summing counter %q: %w", name, err)
	}
	keys := make([]item, entry.Most())
	for n := range keys {
		keys[n] = counterItemKey(name, n)
	}
	items, err := batchGet(ctx, c.client, c.table, keys, true)
	if err != nil {
		return Sum{}, fmt.Errorf("summing counter %q: %w", name, err)
	}
	sum := Sum{Value: new(big.Int), Shards: entry.History.Newest()}
	for _, it := range items {
		value, err := wholeNumber(it, "value")
		if err != nil {
			return Sum{}, fmt.Errorf("summing counter %q: %w", name, err)
		}
		sum.Value.Add(sum.Value, value)
	}
	return sum, nil
}

func wholeNumber(it item, name string) (*big.Int, error) {
	n, ok := it[name].(*types.AttributeValueMemberN)
	if !ok {
		return nil, fmt.Errorf("attribute %s is not a number", name)
	}
	value, ok := new(big.Int).SetString(n.Value, 10)
	if !ok {
		return nil, fmt.Errorf("attribute %s is not a whole number", name)
	}
	return value, nil
}
