package ddb

import (
	"context"
	"crypto/rand"
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
	id           identity // what tells it apart, old or new
}

// pair puts an item's places in the order of the phase.
func (m *Migration) pair(from, to place, id identity) pair {
	if m.Phase >= ReadNew {
		return pair{m.To, m.From, to, from, id}
	}
	return pair{m.From, m.To, from, to, id}
}

// identity is what tells an item apart in either table: where only one of them tells
// items with equal sort keys apart, the other can't hold both.
func (m *Migration) identity(it Item) identity {
	return merged(m.From.identity(it), m.To.identity(it))
}

// stored reads what is at both places at one instant. An empty place is nil.
func (m *Migration) stored(ctx context.Context, p pair) (truth, other Item, err error) {
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

// read reads both at one instant, as stored. Where another item is, the item is absent:
// nil.
func (m *Migration) read(ctx context.Context, p pair) (truth, other Item, err error) {
	truth, other, err = m.stored(ctx, p)
	return p.id.own(truth), p.id.own(other), err
}

// own returns the item that was read if it is the one, else nil.
func (id identity) own(it Item) Item {
	if !id.matches(it) {
		return nil
	}
	return it
}

// equal compares all attributes but the keys, which have the same names in both tables.
func (t *Table) equal(a, b Item) bool {
	if (a == nil) != (b == nil) {
		return false
	}
	return reflect.DeepEqual(t.contents(a), t.contents(b))
}

func (t *Table) contents(it Item) Item {
	it = maps.Clone(it)
	delete(it, t.PartitionKey)
	delete(it, t.SortKey)
	return it
}

// align makes the other side equal to the truth, and returns it. It is errOutrun when
// others wrote meanwhile.
func (m *Migration) align(ctx context.Context, p pair) (Item, error) {
	truth, other, err := m.read(ctx, p)
	if err != nil || p.truth.equal(truth, other) {
		return truth, err
	}
	return truth, m.bring(ctx, p, truth)
}

// bring makes the other side equal to the truth as it was read. The write is
// conditional on the truth being so still: not even a process that stood still for
// long can put back something old. It is errOutrun when it is not.
func (m *Migration) bring(ctx context.Context, p pair, truth Item) error {
	check, err := p.truth.unchanged(p.at, truth, p.id)
	if err != nil {
		return err
	}
	change := p.id.delete(p.other, p.otherAt)
	if truth != nil {
		change = p.put(p.other, p.otherAt, truth)
	}
	err = m.transact(ctx, types.TransactWriteItem{ConditionCheck: check}, change)
	switch failed := failedConditions(err); {
	case len(failed) == 0 && err != nil:
		return err
	case slices.Contains(failed, 0):
		return errOutrun
	case len(failed) > 0:
		return p.id.taken()
	}
	// What the condition can't see is an attribute that came new in between.
	now, err := p.truth.read(ctx, p.at)
	if err == nil && !p.truth.equal(truth, p.id.own(now)) {
		err = errOutrun
	}
	return err
}

// put is a put of the item that does not replace another one.
func (p pair) put(t *Table, at place, it Item) types.TransactWriteItem {
	g := p.id.free(t.PartitionKey)
	return types.TransactWriteItem{Put: &types.Put{
		TableName: &t.Name, Item: t.stored(it, at),
		ConditionExpression: g.condition, ExpressionAttributeNames: g.names, ExpressionAttributeValues: g.values,
	}}
}

// delete is a delete of the item and of no other one.
func (id identity) delete(t *Table, at place) types.TransactWriteItem {
	g := id.free(t.PartitionKey)
	return types.TransactWriteItem{Delete: &types.Delete{
		TableName: &t.Name, Key: t.key(at),
		ConditionExpression: g.condition, ExpressionAttributeNames: g.names, ExpressionAttributeValues: g.values,
	}}
}

// sync aligns until nobody interferes.
func (m *Migration) sync(ctx context.Context, p pair) error {
	return undisturbed(ctx, func(ctx context.Context) error {
		_, err := m.align(ctx, p)
		return err
	})
}

// undisturbed repeats what others outran, and that alone: what an attempt may have
// done counts, and another could do it again.
func undisturbed(ctx context.Context, attempt func(context.Context) error) error {
	var last error
	err := persist(ctx, func(ctx context.Context) error {
		if last = attempt(ctx); errors.Is(last, errOutrun) {
			return last
		}
		return nil
	})
	if err != nil {
		return err
	}
	return last
}

// transact makes a transaction, with a token that makes repeated attempts one.
func (m *Migration) transact(ctx context.Context, actions ...types.TransactWriteItem) error {
	token := rand.Text()
	return persist(ctx, func(ctx context.Context) error {
		_, err := m.Client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions, ClientRequestToken: &token}, once)
		return err
	})
}

// maxCompared bounds the attributes of an item that is copied, by the length of an
// expression (4 KB) and its operators (300): DynamoDB's limits.
const maxCompared = 140

// unchanged is the condition that the item at a place is as it was read.
func (t *Table) unchanged(at place, it Item, id identity) (*types.ConditionCheck, error) {
	contents := t.contents(it)
	if len(contents) > maxCompared {
		return nil, fmt.Errorf("an item of %q has %d attributes, and over %d can't be compared", at.pk, len(contents), maxCompared)
	}
	g := id.absent(t.PartitionKey)
	if it != nil {
		g = identity(nil).there(t.PartitionKey)
	}
	terms := []string{*g.condition}
	values := Item{}
	for i, name := range slices.Sorted(maps.Keys(contents)) {
		n := strconv.Itoa(i)
		terms = append(terms, "#a"+n+" = :a"+n)
		g.names["#a"+n], values[":a"+n] = name, contents[name]
	}
	condition := strings.Join(terms, " AND ")
	return &types.ConditionCheck{
		TableName: &t.Name, Key: t.key(at), ConditionExpression: &condition,
		ExpressionAttributeNames: g.names, ExpressionAttributeValues: merged(g.values, values),
	}, nil
}

// failedConditions lists the actions of a canceled transaction whose conditions did
// not hold.
func failedConditions(err error) (list []int) {
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok {
		return nil
	}
	for i, r := range canceled.CancellationReasons {
		if r.Code != nil && *r.Code == "ConditionalCheckFailed" {
			list = append(list, i)
		}
	}
	return list
}
