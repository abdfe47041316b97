package ddb

import (
	"context"
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Put writes an item to its write shard, and returns once it is durable or an error.
// The partition key attribute holds the name; Put leaves the caller's item as it is.
//
// A put that is throttled under a RandomSuffix goes on to another write shard, unless
// an attempt before may have been applied.
func (t *Table) Put(ctx context.Context, it Item) error {
	if err := t.fault(); err != nil {
		return err
	}
	name, err := t.name(it)
	if err != nil {
		return err
	}
	var at []place
	unsure := false // whether an attempt may have been applied
	err = persist(ctx, func(ctx context.Context) (err error) {
		if at == nil {
			if at, err = t.Layout.places(ctx, t, name, it); err != nil {
				return err
			}
		}
		err = t.putAt(ctx, it, at[0])
		unsure = unsure || err != nil && !isThrottle(err)
		if isThrottle(err) && !unsure && !t.Layout.found() {
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
func (t *Table) putAt(ctx context.Context, it Item, at place) error {
	id := t.identity(it)
	g := id.free(t.PartitionKey)
	_, err := t.Client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &t.Name, Item: t.stored(it, at),
		ConditionExpression: g.condition, ExpressionAttributeNames: g.names, ExpressionAttributeValues: g.values,
	}, once)
	if _, failed := conditional(err); failed {
		return id.taken()
	}
	return err
}

// stored is an item with the keys that DynamoDB has.
func (t *Table) stored(it Item, p place) Item {
	it = maps.Clone(it)
	maps.Copy(it, t.key(p))
	return it
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
	if failed, ok := conditional(err); ok && failed.Item != nil {
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

func (t *Table) updateAt(ctx context.Context, key Item, places []place, in *dynamodb.UpdateItemInput) (*dynamodb.UpdateItemOutput, error) {
	if in.TableName != nil || in.Key != nil {
		return nil, fmt.Errorf("%w: the input has a TableName or a Key", ErrMisused)
	}
	id := t.identity(key)
	at, err := t.target(ctx, places, id)
	if err != nil {
		return nil, err
	}
	filled := *in
	filled.TableName, filled.Key = &t.Name, t.key(at)
	id.claim(&filled, t.PartitionKey)
	var out *dynamodb.UpdateItemOutput
	err = persistSum(ctx, func(ctx context.Context) (err error) {
		out, err = t.Client.UpdateItem(ctx, &filled, once)
		return err
	})
	if failed, ok := conditional(err); ok && len(id) > 0 {
		if failed.Item != nil && !id.matches(failed.Item) {
			err = fmt.Errorf("%w: %w", id.taken(), err)
		}
		if in.ReturnValuesOnConditionCheckFailure != types.ReturnValuesOnConditionCheckFailureAllOld {
			failed.Item = nil
		}
	}
	return out, err
}

// claim lets an update neither touch another item nor make one that lacks what tells
// it apart.
func (id identity) claim(in *dynamodb.UpdateItemInput, partitionKey string) {
	if len(id) == 0 {
		return
	}
	expression := id.named(in)
	g := id.free(partitionKey).and(in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	in.UpdateExpression, in.ConditionExpression = &expression, g.condition
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = g.names, g.values
	in.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
}

// target is the place of an item that is there, or else where it belongs.
func (t *Table) target(ctx context.Context, places []place, id identity) (place, error) {
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
	if err := t.fault(); err != nil {
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
		if err := t.remove(ctx, p, t.identity(key)); err != nil {
			return t.describe(operation, name, err)
		}
	}
	return nil
}

// deleteAll deletes all items with a key's sort key.
func (t *Table) deleteAll(ctx context.Context, key Item) error {
	const operation = "deleting an item of"
	name, err := t.name(key)
	if err != nil {
		return err
	}
	g, err := t.gather(name, Span{Low: key[t.SortKey], High: key[t.SortKey], Consistent: true})
	if err != nil {
		return t.describe(operation, name, err)
	}
	for found, err := range g.all(ctx) {
		if err == nil {
			err = t.remove(ctx, place{found.pk, found.sort}, nil)
		}
		if err != nil {
			return t.describe(operation, name, err)
		}
	}
	return nil
}

// remove deletes an item from a place; another item there stays.
func (t *Table) remove(ctx context.Context, p place, id identity) error {
	g := id.free(t.PartitionKey)
	in := &dynamodb.DeleteItemInput{
		TableName: &t.Name, Key: t.key(p),
		ConditionExpression: g.condition, ExpressionAttributeNames: g.names, ExpressionAttributeValues: g.values,
	}
	err := persist(ctx, func(ctx context.Context) error {
		_, err := t.Client.DeleteItem(ctx, in, once)
		return err
	})
	if _, another := conditional(err); another {
		return nil
	}
	return err
}
