package counters

import (
	"context"
	"fmt"
	"math/big"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// ReaderClient is what a Reader, or a Summaries, calls of DynamoDB.
type ReaderClient interface {
	dynamo.BatchGetter
}

// Reader sums the write shards that a Writer writes.
type Reader struct {
	client ReaderClient
	table  string
	shards *shardmap.Map
}

// NewReader returns a Reader over the items table.
func NewReader(client ReaderClient, table string, shards *shardmap.Map) *Reader {
	return &Reader{client: client, table: table, shards: shards}
}

// Sum is a counter's value by strongly consistent reads.
type Sum struct {
	Value  *big.Int
	Shards int // the newest shard count
}

// Sum reads all the write shards that the counter ever had, one read unit each.
// A counter never written is 0.
func (c *Reader) Sum(ctx context.Context, name string) (Sum, error) {
	entry, err := c.shards.Read(ctx, Key(name))
	if err != nil {
		return Sum{}, fmt.Errorf("summing counter %q: %w", name, err)
	}
	keys := make([]dynamo.Item, entry.Most())
	for n := range keys {
		keys[n] = counterItemKey(name, n)
	}
	items, err := dynamo.BatchGet(ctx, c.client, c.table, keys, true)
	if err != nil {
		return Sum{}, fmt.Errorf("summing counter %q: %w", name, err)
	}
	sum := Sum{Value: new(big.Int), Shards: entry.History.Newest()}
	for _, it := range items {
		value, err := dynamo.WholeNumber(it, "value")
		if err != nil {
			return Sum{}, fmt.Errorf("summing counter %q: %w", name, err)
		}
		sum.Value.Add(sum.Value, value)
	}
	return sum, nil
}
