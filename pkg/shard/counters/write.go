package counters

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// WriterClient has the DynamoDB calls of a Writer.
type WriterClient interface {
	client.Updater
}

// Writer adds to counters that are spread over write shards.
//
// A write shard is one item:
//
//	pk    S   C#<counter>#<shard>
//	sk    S   - for write shard 0, + for the others
//	value N   the sum of what was added to this write shard
//	rev   N   raised by one with every write; starts at the microsecond of the first
//	n     NS  on write shard 0 only: the largest element is the most write shards that the counter ever
//	          had; absent if no writer knew of more than one
type Writer struct {
	client   WriterClient
	table    string
	shards   *shardmap.Map
	observer shard.Observer
}

// Options are a Writer's settings. The zero value is ready to use.
type Options struct {
	Observer shard.Observer // receives every write attempt; may be nil
}

// NewWriter returns a Writer over the items table.
func NewWriter(client WriterClient, table string, shards *shardmap.Map, o Options) *Writer {
	return &Writer{client: client, table: table, shards: shards, observer: o.Observer}
}

// Add adds delta to the counter's value, on a random write shard of the newest shard count. If that one is throttled,
// it retries on another. It returns nil once the write is durable, or an error of kind ErrThrottled or ErrUnavailable.
//
// After a timeout or a 5xx of DynamoDB, Add returns ErrUnavailable, and the delta may or may not count. After a lost
// connection Add makes one more attempt, so the delta may count twice. AddTransact with package once avoids both.
func (c *Writer) Add(ctx context.Context, name string, delta int64, now time.Time) error {
	if err := cmp.Or(dynamo.CheckNow(now), observe.CheckArguments(c.client, c.shards, name)); err != nil {
		return err
	}
	call, clock := observe.Begin(c.observer), dynamo.StartClock(now)
	last := -1 // the write shard of the last attempt
	err := dynamo.PersistSum(ctx, func(ctx context.Context) error {
		w := c.newWrite(ctx, name, delta, last, clock.Now()) // the attempt's time: see AddTransact
		last = w.Attempt.Shard
		_, err := c.client.UpdateItem(ctx, dynamo.UpdateInput(w.Action.Update), dynamo.NoRetry)
		return call.Observe(ctx, w.Attempt, err)
	})
	if err != nil {
		return fmt.Errorf("adding to counter %q: %w", name, err)
	}
	return nil
}

// AddTransact returns Add's write for a transaction of package once, which is safe to repeat. Each call chooses a random
// write shard. Pass the attempt's time as now, not the call's: the rev of a new write shard starts from now, and must be
// above that of a tombstone, if the counter was deleted meanwhile.
func (c *Writer) AddTransact(ctx context.Context, name string, delta int64, now time.Time) shardmap.Write {
	return c.newWrite(ctx, name, delta, -1, now)
}

// newWrite returns the write of delta to a random write shard other than last; a last of -1 excludes none.
func (c *Writer) newWrite(ctx context.Context, name string, delta int64, last int, now time.Time) shardmap.Write {
	entry, count := c.shards.Newest(ctx, Key(name), now)
	n := shard.Another(count, last)
	u := c.update(name, n, entry.Most(), delta, now)
	return shardmap.Write{
		Action:  types.TransactWriteItem{Update: u},
		Attempt: observe.NewAttempt(schema.Counter, Key(name), entry, n, now),
		Probe:   observe.TableProbe(u.Key),
	}
}

// update returns the update that adds delta to write shard n. most is the largest number of write shards
// that the counter ever had.
func (c *Writer) update(name string, n, most int, delta int64, now time.Time) *types.Update {
	u := &types.Update{
		TableName:                &c.table,
		Key:                      dynamo.Key(schema.CounterKey(name, n)),
		UpdateExpression:         aws.String("SET rev = if_not_exists(rev, :now) + :one ADD #value :delta"),
		ExpressionAttributeNames: map[string]string{"#value": "value"},
		ExpressionAttributeValues: dynamo.Item{
			":now": dynamo.Number(now.UnixMicro()), ":one": dynamo.Number(1), ":delta": dynamo.Number(delta),
		},
	}
	if n == 0 && most > 1 {
		*u.UpdateExpression += ", " + schema.CounterMaxShards + " :most"
		u.ExpressionAttributeValues[":most"] = &types.AttributeValueMemberNS{Value: []string{strconv.Itoa(most)}}
	}
	return u
}

// Key returns a counter's key in the shard map.
func Key(name string) string {
	return schema.BaseKey{Type: schema.Counter, Name: name}.String()
}
