package folds

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Bounds of what happens to the system as a whole in one run.
const (
	calmTime   = 150 * time.Millisecond // between two upheavals, at most
	maxStreams = 9                      // open stream shards: each costs a read of the whole stream
	maxPoison  = 8
	seldom     = 10 // one in so many
	fewCount   = 8  // write shards
	maxCount   = 90 // write shards: two partials
)

// upheave changes the system until ctx ends, or too much has changed.
func (r *system) upheave(ctx context.Context, kill chan<- struct{}) error {
	for {
		pause := time.Duration(r.dice.intN(int(calmTime)))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		if err := r.change(ctx, r.dice.intN(100), kill); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// change makes the change of a number below 100. Once the load is over, only the
// stream and its readers change.
func (r *system) change(ctx context.Context, n int, kill chan<- struct{}) error {
	switch {
	case n < 35 && r.auditing.Load() && r.dice.intN(seldom) > 0:
		return nil
	case n < 10:
		return r.endStreamShard(split)
	case n < 25:
		return r.endStreamShard(rotated)
	case n < 35:
		select {
		case kill <- struct{}{}:
		case <-ctx.Done():
		}
		return nil
	case r.settling.Load():
		return nil
	case n < 60:
		return r.changeCount(ctx)
	case n < 68:
		return r.putPoison(ctx)
	}
	return r.remove(ctx)
}

// endStreamShard splits or rotates an open stream shard.
func (r *system) endStreamShard(how fault) error {
	virtual := r.virtual.Load()
	live := virtual.Live()
	if len(live) == 0 || len(virtual.Plan().Shards) > 500 {
		return nil
	}
	id := live[r.dice.intN(len(live))]
	end := virtual.Rotate
	if how == split && len(live) < maxStreams {
		end = virtual.Split
	} else {
		how = rotated
	}
	if err := end(id); err != nil {
		return err
	}
	r.dice.count(how)
	return nil
}

// changeCount gives a counter or an entity another shard count, up or down.
func (r *system) changeCount(ctx context.Context) error {
	base := schema.BaseKey{Type: schema.Counter, Name: r.counter(r.dice.intN(min(20, r.o.Counters)))}
	count := 1 + r.dice.intN(fewCount)
	switch r.dice.intN(6) {
	case 0:
		count = 1 + r.dice.intN(maxCount)
	case 1, 2:
		base = schema.BaseKey{Type: schema.Entity, Name: entityName(r.dice.intN(r.o.Entities))}
	}
	_, err := r.changer.Pin(ctx, base.String(), count, shardmap.Note{By: "harness", Why: "on purpose"}, time.Now())
	if errors.Is(err, shardmap.ErrNoChange) || errors.Is(err, shard.ErrUnavailable) {
		return nil // a change that takes over a second is abandoned, or was made
	}
	if err == nil {
		r.dice.count(counted)
	}
	return err
}

// removeAge is how old a write shard is at least that is removed. A rev begins with
// the microsecond of the call that makes its item: one under way may still make it
// again with a rev from before, and what was folded of a younger one may be newer.
const removeAge = 2 * time.Second

// remove deletes a write shard of a counter, if it is there. What it had is then
// no part of the counter any more, whatever is written later.
func (r *system) remove(ctx context.Context) error {
	counter := r.counter(r.dice.intN(1 + r.dice.intN(min(20, r.o.Counters))))
	n := r.dice.intN(1 + r.dice.intN(fewCount))
	pk := schema.Key{Base: schema.BaseKey{Type: schema.Counter, Name: counter}, Shard: n}.String()
	before := strconv.FormatInt(time.Now().Add(-removeAge).UnixMicro(), 10)
	whole := context.WithoutCancel(ctx) // one that is cut off may be gone, uncounted
	out, err := r.DB.DeleteItem(whole, &dynamodb.DeleteItemInput{
		TableName: &r.Names.Items, Key: rig.Key(pk, schema.SoleSK), ReturnValues: types.ReturnValueAllOld,
		ConditionExpression:       aws.String("rev < :before"),
		ExpressionAttributeValues: item{":before": &types.AttributeValueMemberN{Value: before}},
	})
	if _, absent := errors.AsType[*types.ConditionalCheckFailedException](err); absent {
		return nil // or too young
	}
	if err != nil {
		return fmt.Errorf("removing %q: %w", pk, err)
	}
	had, err := strconv.ParseInt(digitsOf(out.Attributes["value"]), 10, 64)
	if err != nil {
		return fmt.Errorf("removing %q: %w", pk, err)
	}
	r.dice.count(removed)
	r.books.removed(counter, had)
	return nil
}
