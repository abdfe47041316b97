package shardmap

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
)

// LateTime is how late a transaction without an answer may still be committed. A [Changer] voids
// its own, so that only one that died can leave such a transaction behind.
const LateTime = time.Minute

// shrinkLead is how much longer the lead of a decrease is: it may be committed LateTime late, and
// views look back every LateTime. The third is reserve.
const shrinkLead = 3 * LateTime

// settle finds out whether a change was made whose transaction had no answer, and voids the
// transaction if it was not. It returns the entry that was made. The work goes on after the
// caller's deadline.
func (c *Changer) settle(ctx context.Context, old, next Entry, decide decision, late func() bool, lost error) (Entry, error) {
	background, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*LateTime)
	begun, done := time.Now().Round(0), make(chan struct{})
	var made Entry
	var err error
	go func() {
		defer cancel()
		defer close(done)
		made, err = c.void(background, old, next, decide, begun, late)
	}()
	select {
	case <-done:
		return made, err
	case <-ctx.Done():
		return old, fmt.Errorf("%w: %w", shard.ErrUnavailable, lost)
	}
}

// errVoided means that the change was not made, and can't be any more.
var errVoided = fmt.Errorf("%w: the change had no answer, and was voided", shard.ErrUnavailable)

// void raises the version of the key's item, on the transaction's own condition, until it is raised
// or the condition fails. In the first case the transaction can't be committed any more. In the
// second case it may have been: it returns nil if the item has its change. If a read showed after
// the bound that it was not committed yet, polls may have missed it, and it is dated again. A
// decrease need not be: all processes read it before it takes effect.
func (c *Changer) void(ctx context.Context, old, next Entry, decide decision, begun time.Time, late func() bool) (Entry, error) {
	missed := false
	for {
		there, err := c.raiseVersion(ctx, old)
		switch {
		case err == nil:
			old.Version++
			c.adopt(old, true, next.Updated)
			return old, errVoided
		case there != nil:
			e := readEntry(next.Key, there)
			if !next.madeIn(e) {
				return e, errVoided // its own version was raised before, or another change was made
			}
			if missed && (len(next.History) == 0 || next.History.Newest() > old.History.Newest()) {
				return c.dateAgain(ctx, old, next, decide, begun)
			}
			return next, nil
		}
		after := late()
		e, err := c.Read(ctx, next.Key)
		missed = missed || after && err == nil && e.Version == old.Version
		if !dynamo.Pause(ctx, rand.N(100*time.Millisecond+dynamo.Since(begun)/50)) {
			return old, errors.Join(shard.ErrUnavailable, ctx.Err())
		}
	}
}

// raiseVersion raises the version of a key's item if it is that of an entry, and changes nothing
// else. If it is another, there is the item.
func (c *Changer) raiseVersion(ctx context.Context, e Entry) (there dynamo.Item, err error) {
	in := &dynamodb.UpdateItemInput{
		TableName: &c.table, Key: mapKey(e.Key), UpdateExpression: aws.String("SET version = :next"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	in.ConditionExpression, in.ExpressionAttributeValues = unchanged(e)
	if in.ExpressionAttributeValues == nil {
		in.ExpressionAttributeValues = dynamo.Item{}
	}
	in.ExpressionAttributeValues[":next"] = dynamo.Number(e.Version + 1)
	err = promptly(ctx, callTime, func(ctx context.Context) error {
		_, err := c.client.UpdateItem(ctx, in, dynamo.NoRetry)
		return err
	})
	if item, failed := dynamo.ConditionFailed(err); failed {
		if item == nil {
			item = dynamo.Item{} // TTL removed a deleted key's item
		}
		return item, err
	}
	return nil, err
}

// madeIn reports whether a key's entry is that of the change, except that its version may have been
// raised since.
func (e Entry) madeIn(there Entry) bool {
	return there.fault == nil && there.Version >= e.Version && there.Updated.Equal(e.Updated) &&
		there.gone == e.gone && there.Pinned == e.Pinned && slices.Equal(there.History.Strings(), e.History.Strings())
}

// dateAgain decides a change again that was committed late, on the entry before it and as of now:
// it takes effect a lead from now, and polls read it. A change that is no longer the newest stays
// as it is.
func (c *Changer) dateAgain(ctx context.Context, old, made Entry, decide decision, begun time.Time) (Entry, error) {
	for {
		now := made.Updated.Add(dynamo.Since(begun))
		again, err := c.change(ctx, made.Key, now, func(e Entry, now time.Time) (Entry, error) {
			if !made.madeIn(e) {
				return e, ErrNoChange
			}
			next, err := decide(old, now)
			next.Version = e.Version + 1
			return next, err
		})
		if errors.Is(err, ErrNoChange) {
			return made, nil
		}
		if err == nil || !dynamo.WorthRetrying(ctx, err) || !dynamo.Pause(ctx, rand.N(100*time.Millisecond)) {
			return again, err
		}
	}
}
