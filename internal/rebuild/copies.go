package rebuild

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// extraCopy is a copy of an event that reads don't return.
type extraCopy struct {
	sk          string
	at          time.Time // of the event
	kept, other int       // write shards: of the copy that reads return, and of this copy
}

// maxCopies bounds the copies that one reading returns, and that one repair removes.
const maxCopies = 10_000

func (e *storedEvents) addExtra(c extraCopy) {
	if len(e.extra) < maxCopies {
		e.extra = append(e.extra, c)
	}
}

// describeExtra returns a text that names the first event with several copies, and the number of other such events.
func (e *storedEvents) describeExtra() string {
	c := e.extra[0]
	text := fmt.Sprintf("the event %q is on write shards %d and %d", c.sk, c.kept, c.other)
	if more := len(e.extra) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more are on two", more)
	}
	return text
}

// copyGrace is the least age of an event whose copies are removed: all processes then agree on the count at its time.
const copyGrace = shardmap.LateMargin

// removeCopies removes the copies that reads don't return. all is false if some are left. The rollup counts all copies, and
// the aggregator subtracts the removed copies.
//
// No removal deletes the last copy of an event:
//   - A removal is a transaction that requires the copy which reads return. If that copy is gone by then, nothing is
//     deleted. If it is deleted later, that delete is meant for the event.
//   - Two repairs that prefer different copies can't delete both: the later transaction lacks the copy that it requires.
//   - A growth does not change which copy reads return. All processes agree on the count at a time before that time, or
//     within LateMargin if the process that made the change died. Copies of younger events stay for a later repair.
//   - A late attempt of a writer may put the removed copy again. Then the event has two copies, which the next check finds.
func (b *bucket) removeCopies(ctx context.Context, found *storedEvents) (all bool, err error) {
	young := b.o.Now().Add(-copyGrace)
	all = len(found.extra) < maxCopies
	for _, c := range found.extra {
		if c.at.After(young) {
			all = false
			continue
		}
		if err := b.removeCopy(ctx, c); err != nil {
			return false, err
		}
	}
	return all, nil
}

// removeCopy deletes a copy if the copy that reads return is stored; otherwise it returns parts.ErrMoved.
func (b *bucket) removeCopy(ctx context.Context, removed extraCopy) error {
	table := aws.String(b.o.Names.Of(schema.Event))
	_, err := b.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{ConditionCheck: &types.ConditionCheck{
			TableName: table, Key: dynamo.Key(eventPartition(b.Bucket, removed.kept), removed.sk), ConditionExpression: aws.String("attribute_exists(" + schema.PK + ")"),
		}},
		{Delete: &types.Delete{TableName: table, Key: dynamo.Key(eventPartition(b.Bucket, removed.other), removed.sk)}},
	}})
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if ok && dynamo.HasReasonCode(canceled, "ConditionalCheckFailed", "TransactionConflict") {
		return parts.ErrMoved
	}
	if err != nil {
		return fmt.Errorf("removing a copy of the event %q: %w", removed.sk, err)
	}
	return nil
}
