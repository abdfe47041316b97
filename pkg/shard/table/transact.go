package table

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/place"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Condition is a condition expression on the item that a write replaces or deletes, with its names
// and values. The library's own names begin with #hotshard and :hotshard.
type Condition struct {
	Expression string
	Names      map[string]string
	Values     Item
}

// PutIf is Put on a condition, for example attribute_not_exists of the partition key. If the condition
// fails, the error wraps a *types.ConditionalCheckFailedException. After an ambiguous result PutIf
// returns ErrUnavailable, and the item may be written. The layout must allow look-ups of single items.
func (t *Table) PutIf(ctx context.Context, it Item, c Condition, now time.Time) error {
	return t.writeIf(ctx, "putting an item of", it, now, raw.target, func(ctx context.Context, r raw, at place.Place, id place.Identity) error {
		p := r.put(it, at, id)
		g := id.Unoccupied(t.PartitionKey).And(&c.Expression, c.Names, c.Values)
		p.ConditionExpression, p.ExpressionAttributeNames, p.ExpressionAttributeValues = g.Condition, g.Names, g.Values
		_, err := t.Client.PutItem(ctx, dynamo.PutInput(p), dynamo.NoRetry)
		return err
	})
}

// DeleteIf deletes an item on a condition. The key is as for Get; the errors are PutIf's.
func (t *Table) DeleteIf(ctx context.Context, key Item, c Condition, now time.Time) error {
	return t.writeIf(ctx, "deleting an item of", key, now, raw.deleteTarget, func(ctx context.Context, r raw, at place.Place, id place.Identity) error {
		d := r.deletion(at, id)
		g := id.Unoccupied(t.PartitionKey).And(&c.Expression, c.Names, c.Values)
		d.ConditionExpression, d.ExpressionAttributeNames, d.ExpressionAttributeValues = g.Condition, g.Names, g.Values
		_, err := t.Client.DeleteItem(ctx, dynamo.DeleteInput(d), dynamo.NoRetry)
		return err
	})
}

// writeIf makes a conditional write at the place that find returns.
func (t *Table) writeIf(ctx context.Context, operation string, key Item, now time.Time, find findTarget, write func(context.Context, raw, place.Place, place.Identity) error) error {
	r := t.raw(now)
	name, places, err := r.find(ctx, operation, key)
	if err != nil {
		return err
	}
	id := r.identity(key)
	err = r.write(ctx, places, id, find, func(ctx context.Context, at place.Place) error { return write(ctx, r, at, id) })
	if err != nil {
		return t.describe(operation, name, err)
	}
	return nil
}

// filled returns the caller's update with TableName, Key and the item's guard.
func (r raw) filled(in *dynamodb.UpdateItemInput, key Item, at place.Place) (*dynamodb.UpdateItemInput, error) {
	if in.TableName != nil || in.Key != nil {
		return nil, fmt.Errorf("%w: the input must have no TableName and no Key: they follow from the name and the item", shard.ErrMisused)
	}
	filled := *in
	filled.TableName, filled.Key = &r.t.Name, r.key(at)
	r.identity(key).GuardUpdate(&filled, r.t.PartitionKey)
	return &filled, nil
}

// AddTransact returns Add's write for a transaction of package once. Each call chooses a random write
// shard.
func (c *Tally) AddTransact(ctx context.Context, name string, delta int64, now time.Time) (shardmap.Write, error) {
	return c.AddAllTransact(ctx, name, map[string]int64{c.Value: delta}, now)
}

// AddAllTransact returns AddAll's write for a transaction of package once, as AddTransact does.
func (c *Tally) AddAllTransact(ctx context.Context, name string, deltas map[string]int64, now time.Time) (shardmap.Write, error) {
	if err := c.fault(now, slices.Sorted(maps.Keys(deltas)), name); err != nil {
		return shardmap.Write{}, err
	}
	w, err := c.write(ctx, name, deltas, -1, now)
	if err != nil {
		return shardmap.Write{}, fmt.Errorf("adding to %q of table %s: %w", name, c.Table, err)
	}
	return w, nil
}
