package table

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/place"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Put writes an item to its write shard, and returns once it is durable or an error.
// The partition key attribute holds the name; Put leaves the caller's item as it is.
//
// A put that is throttled under a RandomSuffix goes on to another write shard, unless
// an attempt before may have been applied.
func (t *Table) Put(ctx context.Context, it Item, now time.Time) error {
	if err := t.Check(); err != nil {
		return err
	}
	r := t.Raw(now)
	name, err := r.NameOf(it)
	if err != nil {
		return err
	}
	var at []place.Place
	unsure := false // whether an attempt may have been applied
	err = dynamo.Persist(ctx, func(ctx context.Context) (err error) {
		if at == nil {
			if at, err = r.Places(ctx, name, it); err != nil {
				return err
			}
		}
		err = r.putAt(ctx, it, at[0])
		unsure = unsure || err != nil && !dynamo.IsThrottle(err)
		if dynamo.IsThrottle(err) && !unsure && !r.Finds() {
			at = nil
		}
		return err
	})
	if err != nil {
		return t.describe("putting an item of", name, err)
	}
	return nil
}

// putAt attempts to put an item at a place that no other has.
func (r Raw) putAt(ctx context.Context, it Item, at place.Place) error {
	id := r.Identity(it)
	_, err := r.t.Client.PutItem(ctx, dynamo.PutInput(r.Put(it, at, id)), dynamo.NoRetry)
	if _, failed := dynamo.ConditionFailed(err); failed {
		return id.Taken()
	}
	return err
}

// Update updates one item, whose key is as for Get. The input says how; TableName and
// Key are Update's to set. As with UpdateItem, an item that is not there is made,
// unless a condition forbids it: one on attribute_exists of the partition key. It gets
// the attribute that its write shard is calculated from, which no update may change.
//
// An attempt whose answer is lost is repeated, unless it timed out, so the update may
// apply twice: an ADD that must not needs a condition.
func (t *Table) Update(ctx context.Context, key Item, in *dynamodb.UpdateItemInput, now time.Time) (*dynamodb.UpdateItemOutput, error) {
	const operation = "updating an item of"
	r := t.Raw(now)
	name, places, err := r.Find(ctx, operation, key)
	if err != nil {
		return nil, err
	}
	out, err := r.update(ctx, key, places, in)
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok && failed.Item != nil {
		t.seen(failed.Item, name, key)
	}
	if err != nil {
		return nil, t.describe(operation, name, err)
	}
	if out.Attributes[t.PartitionKey] != nil {
		t.seen(out.Attributes, name, key)
	}
	return out, nil
}

func (r Raw) update(ctx context.Context, key Item, places []place.Place, in *dynamodb.UpdateItemInput) (*dynamodb.UpdateItemOutput, error) {
	if in.TableName != nil || in.Key != nil {
		return nil, fmt.Errorf("%w: the input has a TableName or a Key", shard.ErrMisused)
	}
	id := r.Identity(key)
	at, err := r.Target(ctx, places, id)
	if err != nil {
		return nil, err
	}
	filled := *in
	filled.TableName, filled.Key = &r.t.Name, r.Key(at)
	id.Claim(&filled, r.t.PartitionKey)
	var out *dynamodb.UpdateItemOutput
	err = dynamo.PersistSum(ctx, func(ctx context.Context) (err error) {
		out, err = r.t.Client.UpdateItem(ctx, &filled, dynamo.NoRetry)
		return err
	})
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok && len(id) > 0 {
		if failed.Item != nil && !id.Matches(failed.Item) {
			err = fmt.Errorf("%w: %w", id.Taken(), err)
		}
		if in.ReturnValuesOnConditionCheckFailure != types.ReturnValuesOnConditionCheckFailureAllOld {
			failed.Item = nil
		}
	}
	return out, err
}

// Delete deletes the item of a key as for Get, if it is there. Where write shards are
// drawn by chance, it reads the one sort key from all of them, and deletes what it finds.
func (t *Table) Delete(ctx context.Context, key Item, now time.Time) error {
	const operation = "deleting an item of"
	if err := t.Check(); err != nil {
		return err
	}
	r := t.Raw(now)
	if !r.Finds() {
		return r.deleteAll(ctx, operation, key)
	}
	name, places, err := r.Find(ctx, operation, key)
	if err != nil {
		return err
	}
	for _, p := range places {
		if err := r.RemoveAt(ctx, p, r.Identity(key)); err != nil {
			return t.describe(operation, name, err)
		}
	}
	return nil
}

// deleteAll deletes all items with a key's sort key.
func (r Raw) deleteAll(ctx context.Context, operation string, key Item) error {
	name, err := r.NameOf(key)
	if err != nil {
		return err
	}
	sort := key[r.t.SortKey]
	for found, err := range r.Scan(ctx, name, Span{Low: sort, High: sort, Consistent: true}) {
		if err == nil {
			err = r.RemoveAt(ctx, place.Place{PK: found.PK, Sort: found.Sort}, nil)
		}
		if err != nil {
			return r.t.describe(operation, name, err)
		}
	}
	return nil
}
