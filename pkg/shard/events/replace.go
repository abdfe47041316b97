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

// maxOutrun bounds how often an attempt puts an item again after another writer changed it first.
const maxOutrun = 4

// putItem puts an item if there is none. It replaces an item with other attributes on condition that they are unchanged,
// which costs another WCU. So an attempt that is applied late replaces no newer data. The stored
// data may equal that of an earlier put; rev distinguishes them. A put that replaces nothing leaves no rev.
func (b *writeBatch) putItem(ctx context.Context, it *batchItem) error {
	err := b.putUnlessThere(ctx, it)
	it.stays = it.stays || err != nil && !dynamo.IsThrottle(err)
	return err
}

func (b *writeBatch) putUnlessThere(ctx context.Context, it *batchItem) error {
	put := &types.Put{Item: it.item, ConditionExpression: aws.String("attribute_not_exists(pk)")}
	for range maxOutrun {
		put.TableName, put.ReturnValuesOnConditionCheckFailure = &b.table, types.ReturnValuesOnConditionCheckFailureAllOld
		_, err := b.client.PutItem(ctx, dynamo.PutInput(put), dynamo.NoRetry)
		err = b.call.Observe(ctx, it.attempt, err)
		there, failed := dynamo.ConditionFailed(err)
		switch {
		case !failed:
			return err
		case hasAll(there, it.item):
			return nil
		}
		if put, err = replacement(there, it.item); err != nil {
			return err
		}
	}
	return dynamo.ErrOutrun
}

// hasAll reports whether a stored event is the one to put: all attributes but rev are equal.
func hasAll(stored, it dynamo.Item) bool {
	stored = maps.Clone(stored)
	delete(stored, attrRev)
	return maps.EqualFunc(stored, it, dynamo.EqualValues)
}

// replacement returns the put of an event in place of the stored one.
func replacement(stored, it dynamo.Item) (*types.Put, error) {
	rev, err := dynamo.Integer(stored, attrRev)
	if err != nil {
		return nil, fmt.Errorf("replacing an event: %w", err)
	}
	next := maps.Clone(it)
	next[attrRev] = dynamo.Number(rev + 1)
	condition, names, values := dynamo.Unchanged(stored, attrRev, "data", schema.ExpiresAt)
	return &types.Put{
		Item: next, ConditionExpression: condition, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	}, nil
}
