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

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard/internal/place"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// pair is the two places of one item, one of which is the truth.
type pair struct {
	c            *call
	truth, other side
	at, otherAt  place.Place
	id           place.Identity // tells the item apart, old and new
}

// pair returns an item's places in the order of the phase.
func (c *call) pair(from, to place.Place, id place.Identity) pair {
	if c.Phase >= ReadNew {
		return pair{c, c.to, c.from, to, from, id}
	}
	return pair{c, c.from, c.to, from, to, id}
}

// identity returns what tells an item apart in either table. If only one table tells items with
// equal sort keys apart, the other can't hold both.
func (c *call) identity(it table.Item) place.Identity {
	return place.Merged(c.from.raw.Identity(it), c.to.raw.Identity(it))
}

// stored reads both places in one transaction. An empty place is nil.
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

// readItems returns both copies of the item, nil for a place without it or with another item.
func (p pair) readItems(ctx context.Context) (truth, other table.Item, err error) {
	truth, other, err = p.stored(ctx)
	return ifMatches(p.id, truth), ifMatches(p.id, other), err
}

// ifMatches returns the item that was read if id matches it, and nil otherwise.
func ifMatches(id place.Identity, it table.Item) table.Item {
	if !id.Matches(it) {
		return nil
	}
	return it
}

// equal compares all attributes except the keys, whose names are the same in both tables.
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

// align makes the other side equal to the truth, and returns the truth. It returns
// dynamo.ErrOutrun after a concurrent write.
func (p pair) align(ctx context.Context) (table.Item, error) {
	truth, other, err := p.readItems(ctx)
	if err != nil || equal(p.truth, truth, other) {
		return truth, err
	}
	return truth, p.copyTruth(ctx, truth)
}

// copyTruth makes the other side equal to the truth that was read. The write's condition is
// that the truth is unchanged, so even a process that was paused for long writes nothing
// outdated. It returns dynamo.ErrOutrun if the truth has changed.
func (p pair) copyTruth(ctx context.Context, truth table.Item) error {
	check, err := unchanged(p.truth, p.at, truth, p.id)
	if err != nil {
		return err
	}
	change := deletion(p.id, p.other, p.otherAt)
	if truth != nil {
		change = p.putNew(p.other, p.otherAt, truth)
	}
	err = transact(ctx, p.c.Client, types.TransactWriteItem{ConditionCheck: check}, change)
	switch failed := dynamo.FailedConditions(err); {
	case len(failed) == 0 && err != nil:
		return err
	case slices.Contains(failed, 0):
		return dynamo.ErrOutrun
	case len(failed) > 0:
		return p.id.TakenError()
	}
	// What the condition can't see is an attribute that came new in between.
	_, now, err := p.truth.raw.Locate(ctx, []place.Place{p.at}, p.id)
	if err == nil && !equal(p.truth, truth, now) {
		err = dynamo.ErrOutrun
	}
	return err
}

// putNew returns a put of the item that does not replace another item.
func (p pair) putNew(t side, at place.Place, it table.Item) types.TransactWriteItem {
	return types.TransactWriteItem{Put: t.raw.Put(it, at, p.id)}
}

// deletion returns a delete of the item, and of no other item.
func deletion(id place.Identity, t side, at place.Place) types.TransactWriteItem {
	return types.TransactWriteItem{Delete: t.raw.Deletion(at, id)}
}

// sync aligns until no concurrent write interferes.
func (p pair) sync(ctx context.Context) error {
	return retryOutrun(ctx, func(ctx context.Context) error {
		_, err := p.align(ctx)
		return err
	})
}

// retryOutrun repeats an attempt that a concurrent write outran. It repeats no other error,
// because the attempt may have been applied.
func retryOutrun(ctx context.Context, attempt func(context.Context) error) error {
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

// transact makes a transaction with a client token, so that retries apply once.
func transact(ctx context.Context, client Client, actions ...types.TransactWriteItem) error {
	token := rand.Text()
	return dynamo.Persist(ctx, func(ctx context.Context) error {
		_, err := client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions, ClientRequestToken: &token}, dynamo.NoRetry)
		return err
	})
}

// maxCompared bounds the attributes of an item that is copied. It follows from DynamoDB's
// limits of an expression's length (4 KB) and operators (300).
const maxCompared = 140

// unchanged returns the condition that the item at a place is as it was read.
func unchanged(t side, at place.Place, it table.Item, id place.Identity) (*types.ConditionCheck, error) {
	contents := contents(t, it)
	if len(contents) > maxCompared {
		return nil, fmt.Errorf("an item of %q has %d attributes: at most %d can be copied", at.PK, len(contents), maxCompared)
	}
	g := id.Absent(t.PartitionKey)
	if it != nil {
		g = place.Identity(nil).Present(t.PartitionKey)
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
