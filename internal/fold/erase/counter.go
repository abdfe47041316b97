package erase

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/fold/audit"
)

// counter has a counter's traces.
type counter struct{ plain }

func (c counter) partition(writeShard int) *dynamodb.QueryInput {
	pk := schema.Key{Base: c.base, Shard: writeShard}.String()
	return &dynamodb.QueryInput{
		TableName: &c.o.Names.Items, ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String("pk = :pk"), ExpressionAttributeValues: item{":pk": dynamo.String(pk)},
	}
}

func (c counter) match(k key) (what What, ok bool) {
	_, ok = c.plain.match(k)
	parsed, _ := schema.ParseKey(k.pk)
	if pk, sk := schema.CounterKey(c.base.Name, parsed.Shard); ok && k == (key{pk, sk}) {
		return WriteShards, true
	}
	return Others, ok
}

// dropped folds the removal of a write shard other than 0, as the aggregator will. So the summary is
// right at once, even if the aggregator is off. Its tombstone prevents a redelivered record from
// bringing the value back, until the compaction removes it.
func (c counter) dropped(ctx context.Context, what What, k key, old item) error {
	if what != WriteShards {
		return nil
	}
	parsed, err := schema.ParseKey(k.pk)
	if err != nil {
		return err
	}
	return fold.FoldRemoval(ctx, c.client, c.o.Names.Rollups, parsed, old, c.o.Now)
}

// summaries repairs the summary by an audit, so that it agrees with the existing write shards. The
// repair makes the tombstones that a killed process did not make. It also raises the rev of a write
// shard that a delayed increment created again, if the rev is lower than the tombstone's.
func (c counter) summaries(ctx context.Context, _ int) error {
	result, there, err := c.auditor.Counter(ctx, c.base.Name)
	if err != nil {
		return err
	}
	for _, f := range result.Findings {
		switch {
		case f.Repaired && f.State == audit.Removed:
			c.deleted(Summaries, 1)
		case !f.Repaired && f.WriteShard != nil:
			c.left("what the summary has of write shard %d: %s", *f.WriteShard, f.Detail)
		case !f.Repaired:
			c.left("the summary: %s", f.Detail)
		}
	}
	if there > 0 {
		c.kept("%d write shards, written meanwhile", there)
	}
	return nil
}
