// Package observe reports the attempts of writers to a [shard.Observer]:
//
//	call := observe.Begin(observer)
//	attempt := observe.Sent(kind.Counter, key, entry, writeShard, now)
//	_, err := client.UpdateItem(ctx, input)
//	call.Observe(ctx, attempt, err)
package observe

import (
	"context"
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// calls is the number of the newest call of this process.
var calls atomic.Uint64

// Call is one call of a writer, whose attempts have one number.
type Call struct {
	observer shard.Observer
	number   uint64
}

// Begin returns a call with a new number. The observer may be nil.
func Begin(o shard.Observer) Call { return Call{o, calls.Add(1)} }

// Sent returns the attempt to write an item of a key to write shard n, with the key's entry.
func Sent(k kind.Kind, key string, e shardmap.Entry, n int, at time.Time) shard.Attempt {
	if kind.Of(k).Placement == kind.Timed {
		e = e.Active(at)
	}
	before := 0
	if last := len(e.History) - 1; last >= 0 {
		before = e.History[:last].Newest()
	}
	return shard.Attempt{
		Key: key, Kind: string(k), Shard: n, At: at,
		Version: e.Version, Shards: e.History.Newest(), Before: before, Effective: e.Effective(), Changed: e.Updated, Pinned: e.Pinned,
	}
}

// SumItems sets Items of each attempt to the sum over the call's attempts of the same key.
func SumItems(attempts []shard.Attempt) {
	sums := map[string]uint64{}
	for _, a := range attempts {
		sums[a.Key] += a.Items
	}
	for i := range attempts {
		attempts[i].Items = sums[attempts[i].Key]
	}
}

// Observe reports an attempt to write a single item, which ended with err. It ignores an attempt
// without a key, and one whose input was wrong: DynamoDB did not try to write it.
func (c Call) Observe(ctx context.Context, a shard.Attempt, err error) {
	if a.Key == "" || dynamo.IsInvalid(err) {
		return
	}
	c.ObserveAs(ctx, a, outcome(a.Kind, err))
}

// ObserveAs reports an attempt with its outcome.
func (c Call) ObserveAs(ctx context.Context, a shard.Attempt, o shard.Outcome) {
	if c.observer == nil {
		return
	}
	a.Call, a.Outcome = c.number, o
	c.observer.ObserveAttempt(ctx, a)
}

func outcome(of string, err error) shard.Outcome {
	_, failed := dynamo.ConditionFailed(err)
	switch {
	case err == nil, failed:
		return shard.Accepted
	case PartitionFull(of, err):
		return shard.Throttled
	case dynamo.IsConflict(err):
		return shard.Conflicted
	}
	return shard.Inconclusive
}

// PartitionFull reports whether the partition of the write shard throttled the write. For some
// kinds that partition is in an index.
func PartitionFull(of string, err error) bool {
	limit := dynamo.KeyRange
	if kind.Of(kind.Kind(of)).Indexed() {
		limit = dynamo.IndexKeyRange
	}
	return dynamo.ThrottleScope(err) == limit
}

// TableProbe returns a probe of the table partition of an item.
func TableProbe(item dynamo.Item) dynamo.Item {
	return dynamo.Key(dynamo.Text(item, schema.PK), schema.ProbeSK)
}

// IndexProbe returns a probe of an index partition; attr is the index's partition key. In the
// table the probe has a partition key of its own.
func IndexProbe(attr, partition string) dynamo.Item {
	it := dynamo.Key(schema.ProbeSK+"#"+partition, schema.ProbeSK)
	it[attr] = dynamo.String(partition)
	return it
}

var hashSeed = maphash.MakeSeed()

// Hash returns a number that distinguishes items within this process.
func Hash(identity string) uint64 { return maphash.String(hashSeed, identity) }
