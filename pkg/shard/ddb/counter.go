package ddb

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// CounterClient is what a CounterWriter calls of DynamoDB.
type CounterClient interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// CounterWriter adds to counters that are spread over write shards.
//
// A write shard is one item:
//
//	pk    S  C#<counter>#<shard>
//	sk    S  -
//	value N  the sum of what was added to this write shard
//	rev   N  raised by one with every write; starts at the microsecond of the first
type CounterWriter struct {
	client CounterClient
	table  string
	shards *Map
	watch  Watcher
}

// NewCounterWriter returns a CounterWriter over the items table. It tells watch
// how its counters fare; [Unwatched] is for nobody.
func NewCounterWriter(client CounterClient, table string, shards *Map, watch Watcher) *CounterWriter {
	return &CounterWriter{client: client, table: table, shards: shards, watch: watched(watch)}
}

// Add adds delta to the counter's value, on a random write shard of the newest
// shard count; when that is throttled it goes on to another. It returns once the
// write is durable, or an error of kind ErrThrottled or ErrUnavailable.
//
// An attempt whose answer is lost is repeated, so the delta may count once more
// for every lost answer; one that timed out is not, and is an ErrUnavailable. [Once] with AddTransact is for callers who can't have that.
func (c *CounterWriter) Add(ctx context.Context, name string, delta int64, now time.Time) error {
	key := counterKey(name)
	request := Request{Key: key, ID: rand.Uint64(), At: now}
	c.watch.Requested(request)
	n, begin := -1, time.Now()
	err := persistSum(ctx, func(ctx context.Context) error {
		at := now.Add(time.Since(begin)) // a late attempt must not start a rev below a tombstone's
		entry, count := c.shards.newest(ctx, key, at)
		n = another(count, n)
		u := c.update(name, n, delta, at)
		_, err := c.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: u.TableName, Key: u.Key, UpdateExpression: u.UpdateExpression,
			ExpressionAttributeNames: u.ExpressionAttributeNames, ExpressionAttributeValues: u.ExpressionAttributeValues,
		}, once)
		tell(ctx, c.watch, Attempt{Key: key, Request: request.ID, Entry: entry, Shard: n, At: at}, err, KeyRange)
		return err
	})
	if err != nil {
		return fmt.Errorf("adding to counter %q: %w", name, err)
	}
	return nil
}

// AddTransact returns Add's write, on a write shard chosen at random each time,
// as an action of a transaction. [Once] makes such a transaction safe to repeat.
// Now is the attempt's own time, not the call's: a write shard that was removed
// since the call began must not be made again with a rev below its tombstone's.
func (c *CounterWriter) AddTransact(ctx context.Context, name string, delta int64, now time.Time) types.TransactWriteItem {
	_, count := c.shards.newest(ctx, counterKey(name), now)
	return types.TransactWriteItem{Update: c.update(name, shard.Random(count), delta, now)}
}

// another returns a random write shard of n, other than the last one if there is
// another.
func another(n, last int) int {
	if last < 0 || last >= n || n == 1 {
		return shard.Random(n)
	}
	return (last + 1 + shard.Random(n-1)) % n
}

func (c *CounterWriter) update(name string, n int, delta int64, now time.Time) *types.Update {
	return &types.Update{
		TableName:                &c.table,
		Key:                      counterItemKey(name, n),
		UpdateExpression:         aws.String("SET rev = if_not_exists(rev, :now) + :one ADD #value :delta"),
		ExpressionAttributeNames: map[string]string{"#value": "value"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":now":   number(now.UnixMicro()),
			":one":   number(1),
			":delta": number(delta),
		},
	}
}

func counterKey(name string) string {
	return schema.BaseKey{Type: schema.Counter, Name: name}.String()
}

func counterItemKey(name string, n int) map[string]types.AttributeValue {
	pk := schema.Key{Base: schema.BaseKey{Type: schema.Counter, Name: name}, Shard: n}.String()
	return itemKey(pk, schema.SoleSK)
}

func itemKey(pk, sk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		schema.PK: &types.AttributeValueMemberS{Value: pk},
		schema.SK: &types.AttributeValueMemberS{Value: sk},
	}
}

func number(n int64) *types.AttributeValueMemberN {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}
