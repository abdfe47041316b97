package rebuild

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
)

// counter has a counter's traces.
type counter struct{ plain }

func (c counter) partitionQuery(writeShard int) *dynamodb.QueryInput {
	pk := schema.Key{Base: c.base, Shard: writeShard}.String()
	return &dynamodb.QueryInput{
		TableName: &c.o.Names.Items, ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String("pk = :pk"), ExpressionAttributeValues: item{":pk": dynamo.String(pk)},
	}
}

func (c counter) classify(k itemKey) (what Trace, ok bool) {
	_, ok = c.plain.classify(k)
	parsed, _ := schema.ParseKey(k.pk)
	if pk, sk := schema.CounterKey(c.base.Name, parsed.Shard); ok && k == (itemKey{pk, sk}) {
		return WriteShards, true
	}
	return Others, ok
}

// afterDelete folds the removal of a write shard other than 0, as the aggregator will. So the summary is
// right at once, even if the aggregator is off. Its tombstone prevents a redelivered record from
// bringing the value back, until the compaction removes it.
func (c counter) afterDelete(ctx context.Context, what Trace, k itemKey, old item) error {
	if what != WriteShards {
		return nil
	}
	parsed, err := schema.ParseKey(k.pk)
	if err != nil || parsed.Shard == 0 {
		return err
	}
	was, err := fold.NewState(dynamo.Digits(old, "rev"), "")
	if err != nil {
		return nil // the audit reports the summary's value
	}
	return fold.FoldStates(ctx, c.client, c.o.Names.Rollups, c.base.Name, map[int]fold.State{parsed.Shard: was.Removal()}, c.o.Now)
}

// cleanSummaries audits the counter. That makes the tombstones that a killed process did not make. It also raises
// the rev of a write shard that a delayed increment created again, if the rev is lower than the tombstone's.
func (c counter) cleanSummaries(ctx context.Context) error {
	return c.auditSummaries(ctx, List(schema.Target{Base: c.base}))
}
