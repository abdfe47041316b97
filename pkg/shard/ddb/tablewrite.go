package ddb

import (
	"context"
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
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
		_, err = t.Client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.Name, Item: t.stored(it, at[0])}, once)
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

// stored is an item with the keys that DynamoDB has.
func (t *Table) stored(it Item, p place) Item {
	it = maps.Clone(it)
	maps.Copy(it, t.key(p))
	return it
}

// Update updates one item, whose key is as for Get. The input says how; TableName and
// Key are Update's to set. As with UpdateItem, an item that is not there is made,
// unless a condition forbids it: one on attribute_exists of the partition key.
//
// An attempt whose answer is lost is repeated, so the update may apply twice: an ADD
// that must not needs a condition.
func (t *Table) Update(ctx context.Context, key Item, in *dynamodb.UpdateItemInput) (*dynamodb.UpdateItemOutput, error) {
	name, places, err := t.find(ctx, key)
	if err != nil {
		return nil, err
	}
	if in.TableName != nil || in.Key != nil {
		return nil, fmt.Errorf("%w: updating an item of %q of table %s: the input has a TableName or a Key", ErrMisused, name, t.Name)
	}
	at, err := t.target(ctx, places)
	if err != nil {
		return nil, err
	}
	filled := *in
	filled.TableName, filled.Key = &t.Name, t.key(at)
	var out *dynamodb.UpdateItemOutput
	err = persist(ctx, func(ctx context.Context) (err error) {
		out, err = t.Client.UpdateItem(ctx, &filled, once)
		return err
	})
	if err != nil {
		return nil, t.describe("updating an item of", at.pk, err)
	}
	if out.Attributes[t.PartitionKey] != nil {
		t.seen(out.Attributes, name, key)
	}
	return out, nil
}

// target is the place of an item that is there, or else where it belongs.
func (t *Table) target(ctx context.Context, places []place) (place, error) {
	if len(places) == 1 {
		return places[0], nil
	}
	at, it, err := t.look(ctx, places)
	if err != nil || it != nil {
		return at, err
	}
	return places[0], nil
}

// Delete deletes the item of a key as for Get, if it is there.
func (t *Table) Delete(ctx context.Context, key Item) error {
	_, places, err := t.find(ctx, key)
	if err != nil {
		return err
	}
	for _, p := range places {
		if err := t.remove(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes what is at a place.
func (t *Table) remove(ctx context.Context, p place) error {
	in := &dynamodb.DeleteItemInput{TableName: &t.Name, Key: t.key(p)}
	err := persist(ctx, func(ctx context.Context) error {
		_, err := t.Client.DeleteItem(ctx, in, once)
		return err
	})
	if err != nil {
		return t.describe("deleting an item of", p.pk, err)
	}
	return nil
}
