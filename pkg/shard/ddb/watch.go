package ddb

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
)

// Watcher is told by writers how their keys fare, so that it can have a hot key's
// shard count raised. Its methods are called by many goroutines.
type Watcher interface {
	// Offered tells of one distinct write, before its first attempt: its base key,
	// its write units, and the time that decides its write shard, which is an
	// event's own.
	Offered(key string, units int, at time.Time)
	// Throttled tells of an attempt that the limit of the write shard's partition
	// refused. It may take some time: the writer waits, and then tries again.
	Throttled(ctx context.Context, key string, writeShard int, at time.Time)
	// Refused tells of write units that a failed condition cost.
	Refused(key string, units int)
}

// Unwatched is a Watcher that does nothing, which a nil Watcher stands for, too.
type Unwatched struct{}

// Offered does nothing.
func (Unwatched) Offered(string, int, time.Time) {}

// Throttled does nothing.
func (Unwatched) Throttled(context.Context, string, int, time.Time) {}

// Refused does nothing.
func (Unwatched) Refused(string, int) {}

// watched is the watcher, or one for nobody.
func watched(w Watcher) Watcher {
	if w == nil {
		return Unwatched{}
	}
	return w
}

// putter is what a probe calls of DynamoDB.
type putter interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
}

// probeLifetime is how long TTL leaves a probe.
const probeLifetime = time.Hour

// probe learns whether a partition is over its limit, after a throttle that came
// without a reason: it writes one item of its own beside the others.
func probe(ctx context.Context, client putter, table string, it item, now time.Time) Scope {
	it[schema.ExpiresAt] = number(now.Add(probeLifetime).Unix())
	_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: it}, once)
	return ThrottleScope(err)
}

// learn finds out which partitions a throttled transaction found full: it only
// says which of its actions were throttled.
func learn(ctx context.Context, client putter, table string, watch Watcher, err error, writes []types.TransactWriteItem, now time.Time) {
	throttled := throttledActions(err, writes)
	for _, w := range throttled[:min(maxLessons, len(throttled))] {
		if l, ok := loadOf(w, now); ok && probe(ctx, client, table, l.probe, now) == l.limit() {
			watch.Throttled(ctx, l.key.Base.String(), l.key.Shard, l.at)
		}
	}
}

// throttledActions lists a transaction's actions that found no capacity.
func throttledActions(err error, actions []types.TransactWriteItem) []types.TransactWriteItem {
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok {
		return nil
	}
	var throttled []types.TransactWriteItem
	for i, reason := range canceled.CancellationReasons {
		code := aws.ToString(reason.Code)
		if i < len(actions) && (code == "ThrottlingError" || code == "ProvisionedThroughputExceeded") {
			throttled = append(throttled, actions[i])
		}
	}
	return throttled
}

// load is what one action of a transaction asks of its write shard.
type load struct {
	key   schema.Key
	units int       // twice a single write's
	at    time.Time // what decides the write shard
	probe item      // goes where the write shard is
	index bool      // the write shard is in the index by_rank
}

// limit is the scope of a throttle that the write shard's partition is to blame for.
func (l load) limit() Scope {
	if l.index {
		return IndexKeyRange
	}
	return KeyRange
}

// loadOf returns the load of an action; ok is false for items of other kinds.
func loadOf(action types.TransactWriteItem, now time.Time) (load, bool) {
	switch {
	case action.Update != nil:
		return tableLoad(text(action.Update.Key, schema.PK), 2, now)
	case action.Delete != nil:
		return tableLoad(text(action.Delete.Key, schema.PK), 2, now)
	case action.Put == nil:
		return load{}, false
	}
	it := action.Put.Item
	pk, sk := text(it, schema.PK), text(it, schema.SK)
	if _, _, _, ok := schema.ParseEntryKey(pk, sk); ok {
		return entryLoad(action.Put, now)
	}
	if at, _, err := schema.ParseEventSortKey(sk); err == nil {
		now = at
	}
	return tableLoad(pk, 2*writeUnits(it), now)
}

// tableLoad is that of an item whose partition key is a write shard's.
func tableLoad(pk string, units int, at time.Time) (load, bool) {
	key, err := schema.ParseKey(pk)
	ok := err == nil && key.Base.Type != schema.Board // boards' are in the index
	return load{key: key, units: units, at: at, probe: itemKey(pk, schema.ProbeSK)}, ok
}
