package events

import (
	"context"
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// attrRev is the number of times that a put of one event replaced other attributes; absent before the first.
const attrRev = "rev"

// maxOutrun bounds the puts of an attempt. Each but the first follows a put whose condition failed: another writer
// changed the item.
const maxOutrun = 4

// putItem puts an item if there is none. It replaces an item with other attributes on condition that these are unchanged,
// which costs another WCU. So an attempt that DynamoDB applies late replaces no newer data. Each replacement raises rev, so
// that the condition also fails if the item was replaced by equal data. A put that replaces nothing leaves no rev.
func (b *writeBatch) putItem(ctx context.Context, it *batchItem) error {
	err := b.putOrReplace(ctx, it)
	it.keepsShard = it.keepsShard || err != nil && !dynamo.IsThrottle(err)
	return err
}

// putOrReplace makes up to maxOutrun conditional puts of an item.
func (b *writeBatch) putOrReplace(ctx context.Context, it *batchItem) error {
	put := &types.Put{Item: it.item, ConditionExpression: aws.String("attribute_not_exists(pk)")}
	for range maxOutrun {
		put.TableName, put.ReturnValuesOnConditionCheckFailure = &b.table, types.ReturnValuesOnConditionCheckFailureAllOld
		_, err := b.client.PutItem(ctx, dynamo.PutInput(put), dynamo.NoRetry)
		err = b.call.Observe(ctx, it.attempt, err)
		stored, conditionFailed := dynamo.ConditionFailed(err)
		switch {
		case !conditionFailed:
			return err
		case isSameEvent(stored, it.item):
			return nil
		}
		if put, err = replacement(stored, it.item); err != nil {
			return err
		}
	}
	return dynamo.ErrOutrun
}

// isSameEvent reports whether a stored event is the event to put: all attributes except rev are equal.
func isSameEvent(stored, it dynamo.Item) bool {
	stored = maps.Clone(stored)
	delete(stored, attrRev)
	return maps.EqualFunc(stored, it, dynamo.EqualValues)
}

// replacement returns the put of an event, on condition that the stored event is unchanged.
func replacement(stored, it dynamo.Item) (*types.Put, error) {
	rev, err := dynamo.Integer(stored, attrRev)
	if err != nil {
		return nil, fmt.Errorf("replacing event %q of %q: %w", dynamo.Text(it, schema.SK), dynamo.Text(it, schema.PK), err)
	}
	next := maps.Clone(it)
	next[attrRev] = dynamo.Number(rev + 1)
	condition, names, values := dynamo.UnchangedCondition(stored, attrRev, "data", schema.ExpiresAt)
	return &types.Put{
		Item: next, ConditionExpression: condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	}, nil
}
