// Package observe checks the arguments of the library's calls, and reports the attempts of writers to a [shard.Observer]:
//
//	call := observe.Begin(observer)
//	attempt := observe.NewAttempt(schema.Counter, key, entry, writeShard, now)
//	_, err := client.UpdateItem(ctx, input)
//	call.Observe(ctx, attempt, err)
package observe

import (
	"context"
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// callCount is the number of calls of this process so far.
var callCount atomic.Uint64

// Call is one call of a writer. All its attempts have the same number.
type Call struct {
	observer shard.Observer
	number   uint64
}

// Begin returns a call with a new number. The observer may be nil.
func Begin(o shard.Observer) Call { return Call{o, callCount.Add(1)} }

// NewAttempt returns the attempt to write an item of time at to a key's write shard. The entry is the key's in the shard
// map, by which the write shard was chosen.
func NewAttempt(kind schema.Kind, key string, entry shardmap.Entry, writeShard int, at time.Time) shard.Attempt {
	if schema.TraitsOf(kind).Placement == schema.TimedPlacement {
		entry = entry.Active(at)
	}
	return entryAttempt(kind, key, entry, writeShard, at)
}

// NewItemAttempt is NewAttempt for a new item, which does not wait for a change to take effect.
func NewItemAttempt(kind schema.Kind, key string, entry shardmap.Entry, writeShard int, at time.Time) shard.Attempt {
	attempt := entryAttempt(kind, key, entry.ActiveOfNew(at), writeShard, at)
	attempt.New = true
	return attempt
}

// entryAttempt returns an attempt with the counts of the entry. Callers remove those that don't apply at the item's time.
func entryAttempt(kind schema.Kind, key string, entry shardmap.Entry, writeShard int, at time.Time) shard.Attempt {
	before := 0
	if last := len(entry.History) - 1; last >= 0 {
		before = entry.History[:last].Newest()
	}
	return shard.Attempt{
		Key: key, Kind: string(kind), Shard: writeShard, At: at, Version: entry.Version, Shards: entry.History.Newest(),
		Before: before, Effective: entry.Effective(), Changed: entry.Updated, Pinned: entry.Pinned,
	}
}

// SumItems sets the field Items of each attempt to the sum over all attempts with the same key.
func SumItems(attempts []shard.Attempt) {
	sums := map[string]uint64{}
	for _, a := range attempts {
		sums[a.Key] += a.Items
	}
	for i := range attempts {
		attempts[i].Items = sums[attempts[i].Key]
	}
}

// Observe reports an attempt to write a single item, which ended with err, and returns err. If the observer knows that
// the key gets no capacity soon, Observe returns dynamo.Final(err), which is not retried. Observe does not report an
// attempt without a key, nor an invalid input, which DynamoDB did not try to write.
func (c Call) Observe(ctx context.Context, a shard.Attempt, err error) error {
	if a.Key == "" || dynamo.IsInvalid(err) {
		return err
	}
	if c.ObserveAs(ctx, a, outcomeOf(a.Kind, err)) {
		return dynamo.Final(err)
	}
	return err
}

// ObserveAs reports an attempt with its outcome. hopeless means that the attempt was throttled, and that the observer
// knows that the key gets no capacity soon.
func (c Call) ObserveAs(ctx context.Context, a shard.Attempt, outcome shard.Outcome) (hopeless bool) {
	if c.observer == nil {
		return false
	}
	a.Call, a.Outcome = c.number, outcome
	c.observer.ObserveAttempt(ctx, a)
	predictor, ok := c.observer.(interface{ Hopeless(shard.Attempt) bool })
	return ok && outcome == shard.Throttled && predictor.Hopeless(a)
}

// outcomeOf returns the outcome of an attempt that ended with err.
func outcomeOf(kindName string, err error) shard.Outcome {
	_, conditionFailed := dynamo.ConditionFailed(err)
	switch {
	case err == nil, conditionFailed:
		return shard.Accepted
	case PartitionFull(kindName, err):
		return shard.Throttled
	case dynamo.IsConflict(err):
		return shard.Conflicted
	}
	return shard.Inconclusive
}

// PartitionFull reports whether err is a throttle by the write shard's partition: for boards and sessions the partition
// in the index, for other kinds the partition in the table.
func PartitionFull(kindName string, err error) bool {
	limit := dynamo.KeyRange
	if schema.TraitsOf(schema.Kind(kindName)).Indexed() {
		limit = dynamo.IndexKeyRange
	}
	return dynamo.ThrottleScope(err) == limit
}

// TableProbe returns the item of a probe in the same partition as an item. If a put of the probe is throttled, the
// partition throttles.
func TableProbe(item dynamo.Item) dynamo.Item {
	return dynamo.Key(dynamo.Text(item, schema.PK), schema.ProbeSK)
}

// IndexProbe returns the item of a probe of an index partition: the attribute partitionKey of the item has the value
// partition. In the table the item has a partition key of its own.
func IndexProbe(partitionKey, partition string) dynamo.Item {
	it := dynamo.Key(schema.ProbeSK+"#"+partition, schema.ProbeSK)
	it[partitionKey] = dynamo.String(partition)
	return it
}

var hashSeed = maphash.MakeSeed()

// Hash returns a hash of an item's identity. Other processes return another hash.
func Hash(identity string) uint64 { return maphash.String(hashSeed, identity) }
