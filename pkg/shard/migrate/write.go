package migrate

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/place"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// Put writes an item as [table.Table.Put] does.
func (m *Migration) Put(ctx context.Context, it table.Item, now time.Time) error {
	c, err := m.begin(now)
	if err != nil {
		return err
	}
	if !c.Phase.dual() {
		return c.truth().Put(ctx, it, now)
	}
	name, err := c.from.raw.NameOf(it)
	if err != nil {
		return err
	}
	from, to, err := c.both(ctx, name, it)
	if err == nil {
		err = c.pair(from, to, c.identity(it)).putBoth(ctx, it)
	}
	if err != nil {
		return describe(m.To, "putting the old and new item of", name, err)
	}
	return nil
}

func (p pair) putBoth(ctx context.Context, it table.Item) error {
	err := transact(ctx, p.c.Client, p.putNew(p.truth, p.at, it), p.putNew(p.other, p.otherAt, it))
	if len(dynamo.FailedConditions(err)) > 0 {
		return p.id.TakenError()
	}
	return err
}

// both returns the old and the new place to which an item belongs.
func (c *call) both(ctx context.Context, name string, it table.Item) (from, to place.Place, err error) {
	old, err := c.from.raw.Places(ctx, name, it)
	if err != nil {
		return place.Place{}, place.Place{}, err
	}
	new, err := c.to.raw.Places(ctx, name, it)
	if err != nil {
		return place.Place{}, place.Place{}, err
	}
	return old[0], new[0], nil
}

// Delete deletes an item as [table.Table.Delete] does.
func (m *Migration) Delete(ctx context.Context, key table.Item, now time.Time) error {
	c, err := m.begin(now)
	if err != nil {
		return err
	}
	if !c.Phase.dual() {
		return c.truth().Delete(ctx, key, now)
	}
	const operation = "deleting the old and new item of"
	name, olds, news, err := c.findBoth(ctx, operation, key)
	if err != nil {
		return err
	}
	if err := c.deleteAll(ctx, c.identity(key), c.spots(olds, news)); err != nil {
		return describe(m.To, operation, name, err)
	}
	return nil
}

// spot is a place in a table.
type spot struct {
	side
	place.Place
}

// spots returns all places where an item may be, old and new. The places where it belongs come first.
func (c *call) spots(olds, news []place.Place) (all []spot) {
	for i := range max(len(olds), len(news)) {
		if i < len(olds) {
			all = append(all, spot{c.from, olds[i]})
		}
		if i < len(news) {
			all = append(all, spot{c.to, news[i]})
		}
	}
	return all
}

// deleteAll deletes an item from all places where it may be, in one transaction: two, and a few
// more near a change of a shard count. If the history of counts is lost there may be too many
// for a transaction. Then the least likely ones are deleted first, on their own.
func (c *call) deleteAll(ctx context.Context, id place.Identity, all []spot) error {
	first := min(len(all), dynamo.MaxActions)
	for _, s := range all[first:] {
		if err := s.raw.RemoveAt(ctx, s.Place, id); err != nil {
			return err
		}
	}
	return retryOutrun(ctx, func(ctx context.Context) error { return c.deleteOnce(ctx, id, all[:first]) })
}

// deleteOnce makes one attempt. A place with another item is not deleted; a condition checks
// that it still has another item.
func (c *call) deleteOnce(ctx context.Context, id place.Identity, all []spot) error {
	var actions []types.TransactWriteItem
	for _, s := range all {
		actions = append(actions, deletion(id, s.side, s.Place))
	}
	err := transact(ctx, c.Client, actions...)
	failed := dynamo.FailedConditions(err)
	if len(failed) == 0 {
		return err
	}
	for _, i := range failed {
		g, d := id.Absent(c.To.PartitionKey), actions[i].Delete
		actions[i] = types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
			TableName: d.TableName, Key: d.Key,
			ConditionExpression: g.Condition, ExpressionAttributeNames: g.Names, ExpressionAttributeValues: g.Values,
		}}
	}
	if err = transact(ctx, c.Client, actions...); len(dynamo.FailedConditions(err)) > 0 {
		return dynamo.ErrOutrun
	}
	return err
}

// findBoth returns the places where the item of a key may be, old and new; it belongs to the
// first ones.
func (c *call) findBoth(ctx context.Context, operation string, key table.Item) (name string, olds, news []place.Place, err error) {
	name, olds, err = c.from.raw.Find(ctx, operation, key)
	if err != nil {
		return "", nil, nil, err
	}
	if news, err = c.to.raw.Places(ctx, name, key); err != nil {
		return "", nil, nil, describe(c.To, operation, name, err)
	}
	return name, olds, news, nil
}

// target returns an item's pair: where it is, or else where it belongs.
func (c *call) target(ctx context.Context, olds, news []place.Place, id place.Identity) (pair, error) {
	from, err := c.from.raw.Target(ctx, olds, id)
	if err != nil {
		return pair{}, err
	}
	to, err := c.to.raw.Target(ctx, news, id)
	return c.pair(from, to, id), err
}

// Update updates an item as [table.Table.Update] does, but its output has no values: the input must
// not ask for any, even for a failed condition. If both tables are written it is applied once,
// whatever is retried. In the first and the last phase it is the Table's Update. The error of a failed condition is a
// *types.ConditionalCheckFailedException.
func (m *Migration) Update(ctx context.Context, key table.Item, in *dynamodb.UpdateItemInput, now time.Time) (*dynamodb.UpdateItemOutput, error) {
	c, err := m.begin(now)
	if err != nil {
		return nil, err
	}
	if in.ReturnValues != "" || in.ReturnValuesOnConditionCheckFailure != "" || in.TableName != nil || in.Key != nil {
		return nil, fmt.Errorf("%w: an Update of a Migration sets TableName and Key, and returns no values", shard.ErrMisused)
	}
	if !c.Phase.dual() {
		return c.truth().Update(ctx, key, in, now)
	}
	const operation = "updating the old and new item of"
	name, olds, news, err := c.findBoth(ctx, operation, key)
	if err != nil {
		return nil, err
	}
	p, err := c.target(ctx, olds, news, c.identity(key))
	if err != nil {
		return nil, describe(m.To, operation, name, err)
	}
	if err := retryOutrun(ctx, func(ctx context.Context) error { return p.updateBoth(ctx, in) }); err != nil {
		return nil, describe(m.To, operation, name, err)
	}
	return &dynamodb.UpdateItemOutput{}, nil
}

// updateBoth updates both places under the condition that the item still exists, or is still
// absent. An update of an item that is not copied yet would create a partial one.
func (p pair) updateBoth(ctx context.Context, in *dynamodb.UpdateItemInput) error {
	there, err := p.align(ctx)
	if err != nil {
		return err
	}
	err = transact(ctx, p.c.Client, p.update(p.truth, p.at, in, there != nil), p.update(p.other, p.otherAt, in, there != nil))
	if len(dynamo.FailedConditions(err)) == 0 {
		return err
	}
	return p.updateError(ctx, in, there)
}

// updateError returns why an update's conditions failed.
func (p pair) updateError(ctx context.Context, in *dynamodb.UpdateItemInput, there table.Item) error {
	truth, other, err := p.stored(ctx)
	if err != nil {
		return err
	}
	for _, it := range []table.Item{truth, other} {
		if it != nil && !p.id.Matches(it) {
			return p.id.TakenError()
		}
	}
	if (truth == nil) == (there == nil) && in.ConditionExpression != nil {
		message := "the condition of an update does not hold"
		return &types.ConditionalCheckFailedException{Message: &message}
	}
	return dynamo.ErrOutrun
}

// update returns one side of an update.
func (p pair) update(t side, at place.Place, in *dynamodb.UpdateItemInput, there bool) types.TransactWriteItem {
	g, expression := p.id.Present(t.PartitionKey), aws.ToString(in.UpdateExpression)
	if !there {
		g, expression = p.id.Absent(t.PartitionKey), p.id.SetIdentity(in)
		empty := "attribute_not_exists(#hotshard) AND " + *g.Condition
		g.Condition = &empty
	}
	g = g.And(in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &t.Name, Key: t.raw.Key(at), UpdateExpression: &expression, ConditionExpression: g.Condition,
		ExpressionAttributeNames: g.Names, ExpressionAttributeValues: g.Values,
	}}
}
