package folds

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
)

// life is that of one process. A dead one gets no answers, and gives none.
type life struct {
	context.Context
	end context.CancelFunc
}

func newLife() *life {
	ctx, end := context.WithCancel(context.Background())
	return &life{ctx, end}
}

func (l *life) over() bool { return l.Err() != nil }

// within returns a context for work of the process, which ends with it.
func (l *life) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(l, cancel)
	return ctx, func() { stop(); cancel() }
}

// client is DynamoDB as one process sees it: calls fail before or after they are
// applied, and the process dies in them. What was applied is always known here,
// since a call that is under way is never cut off.
type client struct {
	*dynamodb.Client
	dice    *dice
	chances []chance
	life    *life
	who     string // ingest or fold
	books   *books // of ingest; nil for folds
	applied func() // is told of every write that was applied
	broken  breakage
}

// breakage says what is taken out of the product's calls, to see whether that is
// found.
type breakage struct {
	fold   bool // the conditions on rev and on a part's sequence number
	marker bool // the condition on a keyed call's marker
	shard  bool // an event's one write shard: some are put on another one, too
}

// write makes a call of so many actions (0 for no transaction). note is told of
// one that was applied, and whether its answer is lost.
func (c *client) write(ctx context.Context, actions int, call func(context.Context) error, note func(lost bool)) error {
	if c.life.over() {
		return silence(ctx)
	}
	f := c.dice.draw(c.chances)
	if f == deathBefore {
		c.count(f)
		c.life.end()
		return silence(ctx)
	}
	if err := f.failure(actions, c.dice.intN(max(1, actions))); err != nil {
		c.count(f)
		return err
	}
	err := call(context.WithoutCancel(ctx))
	if err == nil {
		c.applied()
	}
	switch {
	case f == deathAfter:
		c.count(f)
		c.life.end()
	case err != nil:
		return err
	case f == lostAnswer:
		c.count(f)
		note(true)
		return errBroken
	}
	gone := c.life.over() || ctx.Err() != nil
	if err == nil {
		note(gone)
	}
	if gone {
		return silence(ctx)
	}
	return nil
}

// silence is what a dead process hears.
func silence(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// UpdateItem is a counter's write at ingest, and a fold at the aggregator.
func (c *client) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.UpdateItemOutput, err error) {
	if c.broken.fold {
		changed := *in
		changed.ConditionExpression, changed.ReturnValuesOnConditionCheckFailure = nil, ""
		in = &changed
	}
	err = c.write(ctx, 0, func(ctx context.Context) error {
		out, err = c.Client.UpdateItem(ctx, in, o...)
		return err
	}, func(lost bool) { tallyIn(ctx).update(in, lost) })
	return out, err
}

// PutItem is an event or a probe.
func (c *client) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.PutItemOutput, err error) {
	err = c.write(ctx, 0, func(ctx context.Context) error {
		out, err = c.Client.PutItem(ctx, in, o...)
		return err
	}, func(bool) { c.put(ctx, in.Item) })
	return out, err
}

// put books items that were put.
func (c *client) put(ctx context.Context, items ...item) {
	for _, it := range items {
		tallyIn(ctx).put(it)
		if c.books != nil {
			c.books.put(it)
		}
	}
}

// TransactWriteItems is a keyed call, or a change of the shard map.
func (c *client) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (out *dynamodb.TransactWriteItemsOutput, err error) {
	if c.broken.marker {
		in = withoutConditions(in)
	}
	err = c.write(ctx, len(in.TransactItems), func(ctx context.Context) error {
		out, err = c.Client.TransactWriteItems(ctx, in, o...)
		return err
	}, func(bool) {
		tallyIn(ctx).transaction()
		for _, action := range in.TransactItems {
			if action.Put != nil {
				c.put(ctx, action.Put.Item)
			}
		}
	})
	return out, err
}

func withoutConditions(in *dynamodb.TransactWriteItemsInput) *dynamodb.TransactWriteItemsInput {
	changed := *in
	changed.TransactItems = nil
	for _, action := range in.TransactItems {
		if action.Put != nil {
			put := *action.Put
			put.ConditionExpression, put.ExpressionAttributeValues, put.ReturnValuesOnConditionCheckFailure = nil, nil, ""
			action.Put = &put
		}
		changed.TransactItems = append(changed.TransactItems, action)
	}
	return &changed
}

// GetItem reads the shard map.
func (c *client) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	if c.life.over() {
		return nil, silence(ctx)
	}
	if f := c.dice.draw(readChances); f != none {
		c.count(f)
		return nil, f.failure(0, 0)
	}
	return c.Client.GetItem(ctx, in, o...)
}

// counterOf returns the counter of an item's key, "" if it is none.
func counterOf(key map[string]types.AttributeValue) string {
	pk, _ := key[schema.PK].(*types.AttributeValueMemberS)
	if pk == nil {
		return ""
	}
	parsed, err := schema.ParseKey(pk.Value)
	if err != nil || parsed.Base.Type != schema.Counter {
		return ""
	}
	return parsed.Base.Name
}

// count notes an injected fault as one of this process.
func (c *client) count(f fault) { c.dice.count(fault(c.who+": ") + f) }
