package table

import (
	"context"
	"errors"
	"fmt"
	"maps"

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
func (t *Table) Put(ctx context.Context, it Item) error {
	if err := t.Check(); err != nil {
		return err
	}
	name, err := t.nameOf(it)
	if err != nil {
		return err
	}
	var at []place.Place
	unsure := false // whether an attempt may have been applied
	err = dynamo.Persist(ctx, func(ctx context.Context) (err error) {
		if at == nil {
			if at, err = t.Layout.places(ctx, t, name, it); err != nil {
				return err
			}
		}
		err = t.putAt(ctx, it, at[0])
		unsure = unsure || err != nil && !dynamo.IsThrottle(err)
		if dynamo.IsThrottle(err) && !unsure && !t.Layout.found() {
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
func (t *Table) putAt(ctx context.Context, it Item, at place.Place) error {
	id := t.identity(it)
	_, err := t.Client.PutItem(ctx, dynamo.PutInput(t.put(it, at, id)), dynamo.NoRetry)
	if _, failed := dynamo.ConditionFailed(err); failed {
		return id.Taken()
	}
	return err
}

// put is the write of an item, with the keys that DynamoDB has, to a place that no other
// item has.
func (t *Table) put(it Item, at place.Place, id place.Identity) *types.Put {
	stored := maps.Clone(it)
	maps.Copy(stored, t.key(at))
	g := id.Free(t.PartitionKey)
	return &types.Put{
		TableName: &t.Name, Item: stored,
		ConditionExpression: g.Condition, ExpressionAttributeNames: g.Names, ExpressionAttributeValues: g.Values,
	}
}

// deletion is the write that deletes an item from a place, and no other one.
func (t *Table) deletion(at place.Place, id place.Identity) *types.Delete {
	g := id.Free(t.PartitionKey)
	return &types.Delete{
		TableName: &t.Name, Key: t.key(at),
		ConditionExpression: g.Condition, ExpressionAttributeNames: g.Names, ExpressionAttributeValues: g.Values,
	}
}

// Update updates one item, whose key is as for Get. The input says how; TableName and
// Key are Update's to set. As with UpdateItem, an item that is not there is made,
// unless a condition forbids it: one on attribute_exists of the partition key. It gets
// the attribute that its write shard is calculated from, which no update may change.
//
// An attempt whose answer is lost is repeated, unless it timed out, so the update may
// apply twice: an ADD that must not needs a condition.
func (t *Table) Update(ctx context.Context, key Item, in *dynamodb.UpdateItemInput) (*dynamodb.UpdateItemOutput, error) {
	const operation = "updating an item of"
	name, places, err := t.find(ctx, operation, key)
	if err != nil {
		return nil, err
	}
	out, err := t.updateAt(ctx, key, places, in)
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

func (t *Table) updateAt(ctx context.Context, key Item, places []place.Place, in *dynamodb.UpdateItemInput) (*dynamodb.UpdateItemOutput, error) {
	if in.TableName != nil || in.Key != nil {
		return nil, fmt.Errorf("%w: the input has a TableName or a Key", shard.ErrMisused)
	}
	id := t.identity(key)
	at, err := t.target(ctx, places, id)
	if err != nil {
		return nil, err
	}
	filled := *in
	filled.TableName, filled.Key = &t.Name, t.key(at)
	id.Claim(&filled, t.PartitionKey)
	var out *dynamodb.UpdateItemOutput
	err = dynamo.PersistSum(ctx, func(ctx context.Context) (err error) {
		out, err = t.Client.UpdateItem(ctx, &filled, dynamo.NoRetry)
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

// target is the place of an item that is there, or else where it belongs.
func (t *Table) target(ctx context.Context, places []place.Place, id place.Identity) (place.Place, error) {
	if len(places) == 1 {
		return places[0], nil
	}
	at, it, err := t.look(ctx, places, id)
	if err != nil || it != nil {
		return at, err
	}
	return places[0], nil
}

// Delete deletes the item of a key as for Get, if it is there. Where write shards are
// drawn by chance, it reads the one sort key from all of them, and deletes what it finds.
func (t *Table) Delete(ctx context.Context, key Item) error {
	const operation = "deleting an item of"
	if err := t.Check(); err != nil {
		return err
	}
	if !t.Layout.found() {
		return t.deleteAll(ctx, key)
	}
	name, places, err := t.find(ctx, operation, key)
	if err != nil {
		return err
	}
	for _, p := range places {
		if err := t.removeAt(ctx, p, t.identity(key)); err != nil {
			return t.describe(operation, name, err)
		}
	}
	return nil
}

// deleteAll deletes all items with a key's sort key.
func (t *Table) deleteAll(ctx context.Context, key Item) error {
	const operation = "deleting an item of"
	name, err := t.nameOf(key)
	if err != nil {
		return err
	}
	for found, err := range t.scan(ctx, name, Span{Low: key[t.SortKey], High: key[t.SortKey], Consistent: true}) {
		if err == nil {
			err = t.removeAt(ctx, place.Place{PK: found.PK, Sort: found.Sort}, nil)
		}
		if err != nil {
			return t.describe(operation, name, err)
		}
	}
	return nil
}

// removeAt deletes an item from a place; another item there stays.
func (t *Table) removeAt(ctx context.Context, p place.Place, id place.Identity) error {
	in := dynamo.DeleteInput(t.deletion(p, id))
	err := dynamo.Persist(ctx, func(ctx context.Context) error {
		_, err := t.Client.DeleteItem(ctx, in, dynamo.NoRetry)
		return err
	})
	if _, another := dynamo.ConditionFailed(err); another {
		return nil
	}
	return err
}
