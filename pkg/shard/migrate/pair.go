package migrate

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

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/place"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// pair is where one item is twice: once as the truth.
type pair struct {
	c            *call
	truth, other side
	at, otherAt  place.Place
	id           place.Identity // what tells it apart, old or new
}

// pair puts an item's places in the order of the phase.
func (c *call) pair(from, to place.Place, id place.Identity) pair {
	if c.Phase >= ReadNew {
		return pair{c, c.to, c.from, to, from, id}
	}
	return pair{c, c.from, c.to, from, to, id}
}

// identity is what tells an item apart in either table: where only one of them tells
// items with equal sort keys apart, the other can't hold both.
func (c *call) identity(it table.Item) place.Identity {
	return place.Merged(c.from.raw.Identity(it), c.to.raw.Identity(it))
}

// stored reads what is at both places at one instant. An empty place is nil.
func (p pair) stored(ctx context.Context) (truth, other table.Item, err error) {
	err = dynamo.Persist(ctx, func(ctx context.Context) error {
		out, err := p.c.Client.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
			{Get: &types.Get{TableName: &p.truth.Name, Key: p.truth.raw.Key(p.at)}},
			{Get: &types.Get{TableName: &p.other.Name, Key: p.other.raw.Key(p.otherAt)}},
		}}, dynamo.NoRetry)
		if err == nil {
			truth, other = out.Responses[0].Item, out.Responses[1].Item
		}
		return err
	})
	return truth, other, err
}

// read reads both at one instant, as stored. Where another item is, the item is absent:
// nil.
func (p pair) read(ctx context.Context) (truth, other table.Item, err error) {
	truth, other, err = p.stored(ctx)
	return own(p.id, truth), own(p.id, other), err
}

// own returns the item that was read if it is the one, else nil.
func own(id place.Identity, it table.Item) table.Item {
	if !id.Matches(it) {
		return nil
	}
	return it
}

// equal compares all attributes but the keys, which have the same names in both tables.
func equal(t side, a, b table.Item) bool {
	if (a == nil) != (b == nil) {
		return false
	}
	return reflect.DeepEqual(contents(t, a), contents(t, b))
}

func contents(t side, it table.Item) table.Item {
	it = maps.Clone(it)
	delete(it, t.PartitionKey)
	delete(it, t.SortKey)
	return it
}

// align makes the other side equal to the truth, and returns it. It is dynamo.ErrOutrun when
// others wrote meanwhile.
func (p pair) align(ctx context.Context) (table.Item, error) {
	truth, other, err := p.read(ctx)
	if err != nil || equal(p.truth, truth, other) {
		return truth, err
	}
	return truth, p.bring(ctx, truth)
}

// bring makes the other side equal to the truth as it was read. The write is
// conditional on the truth being so still: not even a process that stood still for
// long can put back something old. It is dynamo.ErrOutrun when it is not.
func (p pair) bring(ctx context.Context, truth table.Item) error {
	check, err := stillIs(p.truth, p.at, truth, p.id)
	if err != nil {
		return err
	}
	change := deletion(p.id, p.other, p.otherAt)
	if truth != nil {
		change = p.put(p.other, p.otherAt, truth)
	}
	err = transact(ctx, p.c.Client, types.TransactWriteItem{ConditionCheck: check}, change)
	switch failed := dynamo.FailedConditions(err); {
	case len(failed) == 0 && err != nil:
		return err
	case slices.Contains(failed, 0):
		return dynamo.ErrOutrun
	case len(failed) > 0:
		return p.id.Taken()
	}
	// What the condition can't see is an attribute that came new in between.
	_, now, err := p.truth.raw.Look(ctx, []place.Place{p.at}, p.id)
	if err == nil && !equal(p.truth, truth, now) {
		err = dynamo.ErrOutrun
	}
	return err
}

// put is a put of the item that does not replace another one.
func (p pair) put(t side, at place.Place, it table.Item) types.TransactWriteItem {
	return types.TransactWriteItem{Put: t.raw.Put(it, at, p.id)}
}

// deletion is a delete of the item and of no other one.
func deletion(id place.Identity, t side, at place.Place) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: t.raw.Deletion(at, id)}
}

// sync aligns until nobody interferes.
func (p pair) sync(ctx context.Context) error {
	return undisturbed(ctx, func(ctx context.Context) error {
		_, err := p.align(ctx)
		return err
	})
}

// undisturbed repeats what others outran, and that alone: what an attempt may have
// done counts, and another could do it again.
func undisturbed(ctx context.Context, attempt func(context.Context) error) error {
	var last error
	err := dynamo.Persist(ctx, func(ctx context.Context) error {
		if last = attempt(ctx); errors.Is(last, dynamo.ErrOutrun) {
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
func transact(ctx context.Context, client Client, actions ...types.TransactWriteItem) error {
	token := rand.Text()
	return dynamo.Persist(ctx, func(ctx context.Context) error {
		_, err := client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions, ClientRequestToken: &token}, dynamo.NoRetry)
		return err
	})
}

// maxCompared bounds the attributes of an item that is copied, by the length of an
// expression (4 KB) and its operators (300): DynamoDB's limits.
const maxCompared = 140

// stillIs is the condition that the item at a place is as it was read.
func stillIs(t side, at place.Place, it table.Item, id place.Identity) (*types.ConditionCheck, error) {
	contents := contents(t, it)
	if len(contents) > maxCompared {
		return nil, fmt.Errorf("an item of %q has %d attributes, and over %d can't be compared", at.PK, len(contents), maxCompared)
	}
	g := id.Absent(t.PartitionKey)
	if it != nil {
		g = place.Identity(nil).There(t.PartitionKey)
	}
	terms := []string{*g.Condition}
	values := table.Item{}
	for i, name := range slices.Sorted(maps.Keys(contents)) {
		n := strconv.Itoa(i)
		terms = append(terms, "#a"+n+" = :a"+n)
		g.Names["#a"+n], values[":a"+n] = name, contents[name]
	}
	condition := strings.Join(terms, " AND ")
	return &types.ConditionCheck{
		TableName: &t.Name, Key: t.raw.Key(at), ConditionExpression: &condition,
		ExpressionAttributeNames: g.Names, ExpressionAttributeValues: place.Merged(g.Values, values),
	}, nil
}
