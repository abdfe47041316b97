package ddb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// pair is where one item is twice: once as the truth.
type pair struct {
	truth, other *Table
	at, otherAt  place
}

// pair puts an item's places in the order of the phase.
func (m *Migration) pair(from, to place) pair {
	if m.Phase >= ReadNew {
		return pair{m.To, m.From, to, from}
	}
	return pair{m.From, m.To, from, to}
}

// read reads both at one instant, as stored. An absent item is nil.
func (m *Migration) read(ctx context.Context, p pair) (truth, other Item, err error) {
	err = persist(ctx, func(ctx context.Context) error {
		out, err := m.Client.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
			{Get: &types.Get{TableName: &p.truth.Name, Key: p.truth.key(p.at)}},
			{Get: &types.Get{TableName: &p.other.Name, Key: p.other.key(p.otherAt)}},
		}}, once)
		if err == nil {
			truth, other = out.Responses[0].Item, out.Responses[1].Item
		}
		return err
	})
	return truth, other, err
}

// equal compares all attributes but the keys.
func (p pair) equal(truth, other Item) bool {
	if (truth == nil) != (other == nil) {
		return false
	}
	return reflect.DeepEqual(p.truth.contents(truth), p.other.contents(other))
}

func (t *Table) contents(it Item) Item {
	it = maps.Clone(it)
	delete(it, t.PartitionKey)
	delete(it, t.SortKey)
	return it
}

// align makes the other side equal to the truth, and returns it. The write is
// conditional on the truth being as it was read: not even a process that stood still
// for long can put back something old. It is errOutrun when others wrote meanwhile.
func (m *Migration) align(ctx context.Context, p pair) (Item, error) {
	truth, other, err := m.read(ctx, p)
	if err != nil || p.equal(truth, other) {
		return truth, err
	}
	check, err := p.truth.unchanged(p.at, truth)
	if err != nil {
		return nil, err
	}
	change := types.TransactWriteItem{Delete: &types.Delete{TableName: &p.other.Name, Key: p.other.key(p.otherAt)}}
	if truth != nil {
		change = types.TransactWriteItem{Put: &types.Put{TableName: &p.other.Name, Item: p.other.stored(truth, p.otherAt)}}
	}
	if err := m.transact(ctx, types.TransactWriteItem{ConditionCheck: check}, change); err != nil {
		if conditionCanceled(err) {
			return nil, errOutrun
		}
		return nil, err
	}
	// What the condition can't see is an attribute that came new in between.
	truth, other, err = m.read(ctx, p)
	if err == nil && !p.equal(truth, other) {
		err = errOutrun
	}
	return truth, err
}

// sync aligns until nobody interferes, and tells whether anything was to be done.
func (m *Migration) sync(ctx context.Context, p pair) (changed bool, err error) {
	truth, other, err := m.read(ctx, p)
	if err != nil || p.equal(truth, other) {
		return false, err
	}
	return true, persist(ctx, func(ctx context.Context) error {
		_, err := m.align(ctx, p)
		return err
	})
}

// maxCompared bounds the attributes of an item that is copied, by the length of an
// expression (4 KB) and its operators (300): DynamoDB's limits.
const maxCompared = 140

// unchanged is the condition that the item at a place is as it was read.
func (t *Table) unchanged(at place, it Item) (*types.ConditionCheck, error) {
	check := &types.ConditionCheck{
		TableName: &t.Name, Key: t.key(at), ExpressionAttributeNames: map[string]string{"#pk": t.PartitionKey},
	}
	contents := t.contents(it)
	if len(contents) > maxCompared {
		return nil, fmt.Errorf("an item of %q has %d attributes, and over %d can't be compared", at.pk, len(contents), maxCompared)
	}
	terms := []string{"attribute_exists(#pk)"}
	if it == nil {
		terms[0] = "attribute_not_exists(#pk)"
	}
	for i, name := range slices.Sorted(maps.Keys(contents)) {
		n := strconv.Itoa(i)
		terms = append(terms, "#a"+n+" = :a"+n)
		check.ExpressionAttributeNames["#a"+n] = name
		if check.ExpressionAttributeValues == nil {
			check.ExpressionAttributeValues = item{}
		}
		check.ExpressionAttributeValues[":a"+n] = contents[name]
	}
	condition := strings.Join(terms, " AND ")
	check.ConditionExpression = &condition
	return check, nil
}

// conditionCanceled tells whether a transaction's condition did not hold.
func conditionCanceled(err error) bool {
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	return ok && hasReason(canceled, "ConditionalCheckFailed")
}
