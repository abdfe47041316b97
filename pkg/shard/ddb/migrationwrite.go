package ddb

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Put writes an item as [Table.Put] does.
func (m *Migration) Put(ctx context.Context, it Item) error {
	if err := m.fault(); err != nil {
		return err
	}
	if !m.dual() {
		t, _ := m.truth()
		return t.Put(ctx, it)
	}
	name, err := m.From.name(it)
	if err != nil {
		return err
	}
	from, to, err := m.both(ctx, name, it)
	if err != nil {
		return err
	}
	if m.same(from, to) {
		return m.From.Put(ctx, it)
	}
	err = m.transact(ctx,
		types.TransactWriteItem{Put: &types.Put{TableName: &m.From.Name, Item: m.From.stored(it, from)}},
		types.TransactWriteItem{Put: &types.Put{TableName: &m.To.Name, Item: m.To.stored(it, to)}})
	if err != nil {
		return m.To.describe("putting an item, old and new, of", name, err)
	}
	return nil
}

// both returns where an item goes, old and new.
func (m *Migration) both(ctx context.Context, name string, it Item) (from, to place, err error) {
	old, err := m.From.Layout.places(ctx, m.From, name, it)
	if err != nil {
		return place{}, place{}, err
	}
	to, err = m.newPlace(ctx, name, it)
	return old[0], to, err
}

func (m *Migration) newPlace(ctx context.Context, name string, it Item) (place, error) {
	list, err := m.To.Layout.places(ctx, m.To, name, it)
	if err != nil {
		return place{}, err
	}
	return list[0], nil
}

// same tells whether an item stays where it is.
func (m *Migration) same(from, to place) bool {
	return m.From.Name == m.To.Name && from.pk == to.pk && compareValues(from.sort, to.sort) == 0
}

// transact makes a transaction, with a token that makes repeated attempts one.
func (m *Migration) transact(ctx context.Context, actions ...types.TransactWriteItem) error {
	token := rand.Text()
	return persist(ctx, func(ctx context.Context) error {
		_, err := m.Client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions, ClientRequestToken: &token}, once)
		return err
	})
}

// Delete deletes an item as [Table.Delete] does.
func (m *Migration) Delete(ctx context.Context, key Item) error {
	if err := m.fault(); err != nil {
		return err
	}
	if !m.dual() {
		t, _ := m.truth()
		return t.Delete(ctx, key)
	}
	name, from, to, err := m.findBoth(ctx, key)
	if err != nil {
		return err
	}
	if m.same(from, to) {
		return m.From.Delete(ctx, key)
	}
	err = m.transact(ctx,
		types.TransactWriteItem{Delete: &types.Delete{TableName: &m.From.Name, Key: m.From.key(from)}},
		types.TransactWriteItem{Delete: &types.Delete{TableName: &m.To.Name, Key: m.To.key(to)}})
	if err != nil {
		return m.To.describe("deleting an item, old and new, of", name, err)
	}
	return nil
}

// findBoth returns where the item of a key is, old and new.
func (m *Migration) findBoth(ctx context.Context, key Item) (name string, from, to place, err error) {
	name, old, err := m.From.find(ctx, key)
	if err != nil {
		return "", place{}, place{}, err
	}
	to, err = m.newPlace(ctx, name, key)
	return name, old[0], to, err
}

// Update updates an item as [Table.Update] does, but applies once whatever is
// repeated, and returns no values: the input must ask for none. A condition that does
// not hold is a *types.ConditionalCheckFailedException.
func (m *Migration) Update(ctx context.Context, key Item, in *dynamodb.UpdateItemInput) error {
	if err := m.fault(); err != nil {
		return err
	}
	if in.ReturnValues != "" || in.TableName != nil || in.Key != nil {
		return fmt.Errorf("%w: an Update of a Migration sets TableName and Key, and has no ReturnValues", ErrMisused)
	}
	if !m.dual() {
		t, _ := m.truth()
		_, err := t.Update(ctx, key, in)
		return err
	}
	name, from, to, err := m.findBoth(ctx, key)
	if err != nil {
		return err
	}
	if m.same(from, to) {
		_, err := m.From.Update(ctx, key, in)
		return err
	}
	p := m.pair(from, to)
	if err := persist(ctx, func(ctx context.Context) error { return m.updateBoth(ctx, p, in) }); err != nil {
		return m.To.describe("updating an item, old and new, of", name, err)
	}
	return nil
}

// updateBoth updates a pair that is equal, under the condition that it still is there
// or still is absent: to update an item that is not copied yet would make half a one.
func (m *Migration) updateBoth(ctx context.Context, p pair, in *dynamodb.UpdateItemInput) error {
	there, err := m.align(ctx, p)
	if err != nil {
		return err
	}
	err = m.transact(ctx, m.update(p.truth, p.at, in, there != nil), m.update(p.other, p.otherAt, in, there != nil))
	if !conditionCanceled(err) {
		return err
	}
	now, _, err := m.read(ctx, p)
	if err != nil {
		return err
	}
	if (now == nil) == (there == nil) && in.ConditionExpression != nil {
		message := "the condition of an update does not hold"
		return &types.ConditionalCheckFailedException{Message: &message}
	}
	return errOutrun
}

// update is one side of an update.
func (m *Migration) update(t *Table, at place, in *dynamodb.UpdateItemInput, there bool) types.TransactWriteItem {
	names := maps.Clone(in.ExpressionAttributeNames)
	if names == nil {
		names = map[string]string{}
	}
	names["#hotshard"] = t.PartitionKey
	condition := "attribute_not_exists(#hotshard)"
	if there {
		condition = "attribute_exists(#hotshard)"
	}
	if in.ConditionExpression != nil {
		condition += " AND (" + *in.ConditionExpression + ")"
	}
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &t.Name, Key: t.key(at), UpdateExpression: in.UpdateExpression, ConditionExpression: &condition,
		ExpressionAttributeNames: names, ExpressionAttributeValues: in.ExpressionAttributeValues,
	}}
}
