package rebuild

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
)

// counterTraces finds and deletes the items of a counter.
type counterTraces struct{ plainTraces }

func (c counterTraces) partitionQuery(writeShard int) *dynamodb.QueryInput {
	pk := schema.Key{Base: c.base, Shard: writeShard}.String()
	return &dynamodb.QueryInput{
		TableName: &c.o.Names.Items, ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String("pk = :pk"), ExpressionAttributeValues: item{":pk": dynamo.String(pk)},
	}
}

func (c counterTraces) classify(k itemKey) (what Trace, ok bool) {
	_, ok = c.plainTraces.classify(k)
	parsed, _ := schema.ParseKey(k.pk)
	if pk, sk := schema.CounterKey(c.base.Name, parsed.Shard); ok && k == (itemKey{pk, sk}) {
		return WriteShards, true
	}
	return Others, ok
}

// afterDelete folds the removal of a write shard other than 0, as the aggregator will. So the summary is right at once,
// even if the aggregator is off. The tombstone that the fold makes prevents a redelivered record from bringing the value
// back.
func (c counterTraces) afterDelete(ctx context.Context, what Trace, k itemKey, old item) error {
	if what != WriteShards {
		return nil
	}
	parsed, err := schema.ParseKey(k.pk)
	if err != nil || parsed.Shard == 0 {
		return err
	}
	last, err := fold.NewState(dynamo.Digits(old, "rev"), "")
	if err != nil {
		return nil // the audit reports that the summary has a value
	}
	return fold.FoldStates(ctx, c.client, c.o.Names.Rollups, c.base.Name, map[int]fold.State{parsed.Shard: last.Removal()}, c.o.Now)
}

// cleanSummaries audits the counter. The audit makes the tombstones that a killed process did not make. If a delayed
// increment created a write shard again with a lower rev than the tombstone's, the audit raises this rev.
func (c counterTraces) cleanSummaries(ctx context.Context) error {
	return c.auditSummaries(ctx, List(schema.Target{Base: c.base}))
}
