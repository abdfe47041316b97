package erase

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/rollup/attribute"
	"github.com/hotshard/hotshard/internal/rollup/audit"
	"github.com/hotshard/hotshard/internal/schema"
)

// tombstone folds the removal of a write shard, as the aggregator will: it is worth 0
// from the rev after its last. So the summary agrees at once, also while the
// aggregator is off. The tombstone stays: it keeps old records that come again from
// bringing the value back, and the daily compaction removes it.
func (t *task) tombstone(ctx context.Context, pk string, old item) error {
	parsed, err := schema.ParseKey(pk)
	if err != nil {
		return err
	}
	rev, ok := new(big.Int).SetString(attribute.DigitsOf(old, "rev"), 10)
	if !ok {
		return nil // no fold could read it either
	}
	revAttr, valueAttr := schema.RevAttr(parsed.Shard), schema.ValueAttr(parsed.Shard)
	summary := schema.SummaryKey(t.base.Name, parsed.Shard)
	_, err = t.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &t.o.Names.Rollups, Key: attribute.Key(summary, schema.SoleSK),
		UpdateExpression:    aws.String("SET v = :v, as_of = :at, gone = :at, " + revAttr + " = :rev, " + valueAttr + " = :zero"),
		ConditionExpression: aws.String("attribute_not_exists(" + revAttr + ") OR " + revAttr + " < :rev"),
		ExpressionAttributeValues: item{
			":rev":  &types.AttributeValueMemberN{Value: rev.Add(rev, big.NewInt(1)).String()},
			":zero": attribute.Number(0), ":at": attribute.Number(t.o.Now().UnixMilli()), ":v": &types.AttributeValueMemberN{Value: schema.SummaryVersion},
		},
	})
	if _, newer := errors.AsType[*types.ConditionalCheckFailedException](err); err != nil && !newer {
		return fmt.Errorf("folding a removal into %q: %w", summary, err)
	}
	return nil
}

// bury has the summary agree with the write shards that are there, by the audit's
// repair. It makes tombstones of what a process that was killed did not fold, and raises
// the rev of a write shard that an increment made again which was on its way for longer
// than the old one was there: it would be taken for older than the tombstone.
func (t *task) bury(ctx context.Context) error {
	result, there, err := t.auditor.Counter(ctx, t.base.Name)
	if err != nil {
		return err
	}
	for _, f := range result.Findings {
		switch {
		case f.Repaired && f.State == audit.Removed:
			t.deleted(Summaries, 1)
		case !f.Repaired && f.WriteShard != nil:
			t.left("what the summary has of write shard %d: %s", *f.WriteShard, f.Detail)
		case !f.Repaired:
			t.left("the summary: %s", f.Detail)
		}
	}
	if there > 0 {
		t.kept("%d write shards, written meanwhile", there)
	}
	return nil
}
