package counters

import (
	"context"
	"fmt"
	"math/big"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/client"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// ReaderClient has the DynamoDB calls of a Reader and a Summaries.
type ReaderClient interface {
	client.BatchGetter
}

// Reader sums counters over all their write shards.
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
	Value  *big.Int // nil after an error
	Shards int      // the newest shard count
}

// Sum returns a counter's value. It reads all write shards that the counter ever had, at 1 RCU
// each. A counter that was never written is 0. If an item is damaged, Sum returns ErrUnreadable.
func (c *Reader) Sum(ctx context.Context, name string) (Sum, error) {
	if err := observe.CheckArguments(c.client, c.shards, name); err != nil {
		return Sum{}, fmt.Errorf("summing a counter: %w", err)
	}
	entry, err := c.shards.Read(ctx, Key(name))
	if err != nil {
		return Sum{}, fmt.Errorf("summing counter %q: %w", name, err)
	}
	keys := make([]dynamo.Item, entry.Most())
	for n := range keys {
		keys[n] = dynamo.Key(schema.CounterKey(name, n))
	}
	items, err := dynamo.BatchGet(ctx, c.client, c.table, keys, true)
	if err != nil {
		return Sum{}, fmt.Errorf("summing counter %q: %w", name, err)
	}
	sum := Sum{Value: new(big.Int), Shards: entry.History.Newest()}
	for _, it := range items {
		value, err := dynamo.BigInteger(it, "value")
		if err != nil {
			return Sum{Shards: sum.Shards}, fmt.Errorf("summing counter %q: %w: item %q: %w", name, ErrUnreadable, dynamo.Text(it, schema.PK), err)
		}
		sum.Value.Add(sum.Value, value)
	}
	return sum, nil
}
