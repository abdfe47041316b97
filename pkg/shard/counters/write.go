package counters

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/internal/watching"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// WriterClient is what a Writer calls of DynamoDB.
type WriterClient interface {
	dynamo.Updater
}

// Writer adds to counters that are spread over write shards.
//
// A write shard is one item:
//
//	pk    S  C#<counter>#<shard>
//	sk    S  -
//	value N  the sum of what was added to this write shard
//	rev   N  raised by one with every write; starts at the microsecond of the first
type Writer struct {
	client WriterClient
	table  string
	shards *shardmap.Map
	watch  shardmap.Watcher
}

// Options are how a Writer works. The zero value is good.
type Options struct {
	Watch shardmap.Watcher // is told how the counters fare; nil for nobody
}

// NewWriter returns a Writer over the items table.
func NewWriter(client WriterClient, table string, shards *shardmap.Map, o Options) *Writer {
	return &Writer{client: client, table: table, shards: shards, watch: watching.Or(o.Watch)}
}

// Add adds delta to the counter's value, on a random write shard of the newest
// shard count; when that is throttled it goes on to another. It returns once the
// write is durable, or an error of kind ErrThrottled or ErrUnavailable.
//
// An attempt whose answer is lost is repeated, so the delta may count once more
// for every lost answer; one that timed out is not, and is an
// ErrUnavailable. Package once, with AddTransact, is for callers who can't have that.
func (c *Writer) Add(ctx context.Context, name string, delta int64, now time.Time) error {
	key := Key(name)
	request := shardmap.Request{Key: key, ID: rand.Uint64(), At: now}
	c.watch.Requested(request)
	n, clock := -1, dynamo.StartClock(now)
	err := dynamo.PersistSum(ctx, func(ctx context.Context) error {
		at := clock.Now() // a late attempt must not start a rev below a tombstone's
		entry, count := c.shards.Newest(ctx, key, at)
		n = shard.Another(count, n)
		_, err := c.client.UpdateItem(ctx, dynamo.UpdateInput(c.update(name, n, delta, at)), dynamo.NoRetry)
		watching.Tell(ctx, c.watch, shardmap.Attempt{Key: key, Request: request.ID, Entry: entry, Shard: n, At: at}, err, dynamo.KeyRange)
		return err
	})
	if err != nil {
		return fmt.Errorf("adding to counter %q: %w", name, err)
	}
	return nil
}

// AddTransact returns Add's write, on a write shard chosen at random each time,
// as an action of a transaction, which package once makes safe to repeat.
// Now is the attempt's own time, not the call's: a write shard that was removed
// since the call began must not be made again with a rev below its tombstone's.
func (c *Writer) AddTransact(ctx context.Context, name string, delta int64, now time.Time) types.TransactWriteItem {
	_, count := c.shards.Newest(ctx, Key(name), now)
	return types.TransactWriteItem{Update: c.update(name, shard.Random(count), delta, now)}
}

func (c *Writer) update(name string, n int, delta int64, now time.Time) *types.Update {
	return &types.Update{
		TableName:                &c.table,
		Key:                      counterItemKey(name, n),
		UpdateExpression:         aws.String("SET rev = if_not_exists(rev, :now) + :one ADD #value :delta"),
		ExpressionAttributeNames: map[string]string{"#value": "value"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":now":   dynamo.Number(now.UnixMicro()),
			":one":   dynamo.Number(1),
			":delta": dynamo.Number(delta),
		},
	}
}

// Key is a counter's key in the shard map.
func Key(name string) string {
	return schema.BaseKey{Type: schema.Counter, Name: name}.String()
}

func counterItemKey(name string, n int) map[string]types.AttributeValue {
	pk := schema.Key{Base: schema.BaseKey{Type: schema.Counter, Name: name}, Shard: n}.String()
	return dynamo.Key(pk, schema.SoleSK)
}
