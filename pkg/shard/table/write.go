package table

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/place"
)

// Put writes an item to its write shard. It returns nil once the item is durable. The item's partition key attribute has
// the name, such as acme. The stored copy has the write shard's key, such as acme#4; the caller's item does not change.
//
// If write shards are random, Put retries a throttled attempt on another write shard, unless an earlier attempt may have
// been applied.
func (t *Table) Put(ctx context.Context, it Item, now time.Time) error {
	r := t.startCall(now)
	if err := r.check(); err != nil {
		return err
	}
	name, err := r.nameOf(it)
	if err != nil {
		return err
	}
	var places []place.Place
	ambiguous := false // an attempt may have been applied
	err = dynamo.Persist(ctx, func(ctx context.Context) (err error) {
		if places == nil {
			if places, err = r.places(ctx, name, it); err != nil {
				return err
			}
		}
		err = r.putAt(ctx, it, places[0])
		switch {
		case err != nil && !dynamo.IsThrottle(err):
			ambiguous = true
		case err != nil && !ambiguous && !r.findable():
			places = nil // the next attempt chooses a write shard again
		}
		return err
	})
	if err != nil {
		return t.describe("putting an item of", name, err)
	}
	return nil
}

// putAt attempts to put an item at a place. If another item is at the place, it returns ErrMisused.
func (r tableCall) putAt(ctx context.Context, it Item, at place.Place) error {
	id := r.identity(it)
	_, err := r.t.Client.PutItem(ctx, dynamo.PutInput(r.putAction(it, at, id)), dynamo.NoRetry)
	err = r.call.Observe(ctx, at.Attempt, err)
	if _, failed := dynamo.ConditionFailed(err); failed {
		return id.TakenError()
	}
	return err
}

// Update updates one item, whose key is as for Get. The input describes the update, without
// TableName and Key, which Update sets. As with UpdateItem, a missing item is created unless a
// condition such as attribute_exists of the partition key prevents it. A created item gets the
// attribute from which its write shard is calculated; no update may change that attribute.
//
// After a timeout or a 5xx of DynamoDB, Update returns ErrUnavailable, and the update may be applied.
// After a lost connection Update makes one more attempt, so an update such as ADD may be applied twice
// unless a condition prevents it.
func (t *Table) Update(ctx context.Context, key Item, in *dynamodb.UpdateItemInput, now time.Time) (*dynamodb.UpdateItemOutput, error) {
	const operation = "updating an item of"
	if in == nil {
		in = &dynamodb.UpdateItemInput{}
	}
	r := t.startCall(now)
	name, places, err := r.findPlaces(ctx, operation, key)
	if err != nil {
		return nil, err
	}
	out, err := r.update(ctx, key, places, in)
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok && failed.Item != nil {
		t.withCallerKeys(failed.Item, name, key)
	}
	if err != nil {
		return nil, t.describe(operation, name, err)
	}
	if out.Attributes[t.PartitionKey] != nil {
		t.withCallerKeys(out.Attributes, name, key)
	}
	return out, nil
}

// update makes the update at the place of the key's item. If another item is at the place, it returns ErrMisused.
func (r tableCall) update(ctx context.Context, key Item, places []place.Place, in *dynamodb.UpdateItemInput) (out *dynamodb.UpdateItemOutput, err error) {
	id := r.identity(key)
	at, err := r.updatePlace(ctx, places, id)
	if err != nil {
		return nil, err
	}
	complete, err := r.completeInput(in, key, at)
	if err != nil {
		return nil, err
	}
	err = dynamo.PersistSum(ctx, func(ctx context.Context) (err error) {
		out, err = r.t.Client.UpdateItem(ctx, complete, dynamo.NoRetry)
		return r.call.Observe(ctx, at.Attempt, err)
	})
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok && id.By != "" {
		if failed.Item != nil && !id.Matches(failed.Item) {
			err = fmt.Errorf("%w: %w", id.TakenError(), err)
		}
		if in.ReturnValuesOnConditionCheckFailure != types.ReturnValuesOnConditionCheckFailureAllOld {
			failed.Item = nil // the caller has not asked for the item
		}
	}
	return out, err
}

// completeInput returns the caller's update with TableName, Key, and the condition that no other item is at the place.
func (r tableCall) completeInput(in *dynamodb.UpdateItemInput, key Item, at place.Place) (*dynamodb.UpdateItemInput, error) {
	if in.TableName != nil || in.Key != nil {
		return nil, fmt.Errorf("%w: the UpdateItemInput has a TableName or Key: leave both nil, since Update sets them", shard.ErrMisused)
	}
	complete := *in
	complete.TableName, complete.Key = &r.t.Name, r.key(at)
	r.identity(key).GuardUpdate(&complete, r.t.PartitionKey)
	return &complete, nil
}

// Delete deletes an item if it exists. The key is as for Get. If write shards are random, Delete reads all write shards
// that may have the item, and deletes each item that has the sort key.
func (t *Table) Delete(ctx context.Context, key Item, now time.Time) error {
	const operation = "deleting an item of"
	r := t.startCall(now)
	if err := r.check(); err != nil {
		return err
	}
	if !r.findable() {
		return r.deleteAll(ctx, operation, key)
	}
	name, places, err := r.findPlaces(ctx, operation, key)
	if err != nil {
		return err
	}
	slices.Reverse(places) // delete the copy that reads prefer last, so that no older copy appears meanwhile
	for _, p := range places {
		if err := r.removeAt(ctx, p, r.identity(key)); err != nil {
			return t.describe(operation, name, err)
		}
	}
	return nil
}

// deleteAll deletes all items of the key's name that have its sort key.
func (r tableCall) deleteAll(ctx context.Context, operation string, key Item) error {
	name, err := r.nameOf(key)
	if err != nil {
		return err
	}
	sort := key[r.t.SortKey]
	items, _ := r.readRange(ctx, name, place.Range{Low: sort, High: sort, Consistent: true, KeepCopies: true})
	for found, err := range items {
		if err == nil {
			err = r.removeAt(ctx, place.Place{PK: found.PK, Sort: found.Sort}, place.Identity{})
		}
		if err != nil {
			return r.t.describe(operation, name, err)
		}
	}
	return nil
}
