package rollup

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/rollup/attribute"
	"github.com/hotshard/hotshard/internal/schema"
)

// acknowledge answers the marks of a batch before which everything was folded.
// Those behind a record that must come again come again with it.
func (d *delivery) acknowledge(ctx context.Context) {
	each(d.marks(), func(m mark) {
		if _, err := d.client.UpdateItem(ctx, d.ack(m)); err != nil && !permanent(err) { // else nobody can wait for it
			d.retry(fmt.Errorf("acknowledging a mark of %q: %w", m.pk, err), m.sequence)
		}
	})
}

// mark is the record of one.
type mark struct{ audit, pk, sk, sequence string }

func (d *delivery) marks() (list []mark) {
	for i := range d.batch.Records[:d.folded()] {
		r := &d.batch.Records[i]
		m := mark{sequence: string(r.Sequence)}
		m.pk, _ = r.Keys.String(schema.PK)
		m.sk, _ = r.Keys.String(schema.SK)
		var ok bool
		m.audit, ok = schema.ParseMark(m.sk)
		if ok && schema.HasMarks(m.pk, m.sk) && r.Name != ddbstream.Remove {
			list = append(list, m)
		}
	}
	return list
}

// folded is how many of the batch's first records need not come again.
func (d *delivery) folded() int {
	again := map[string]bool{}
	for _, sequence := range d.again {
		again[sequence] = true
	}
	at := slices.IndexFunc(d.batch.Records, func(r ddbstream.Record) bool { return again[string(r.Sequence)] })
	if at < 0 {
		return len(d.batch.Records)
	}
	return at
}

func (d *delivery) ack(m mark) *dynamodb.UpdateItemInput {
	update := "SET expires_at = :expires"
	values := map[string]types.AttributeValue{
		":expires": attribute.Number(d.now().Add(schema.MarkLifetime).Unix()),
	}
	if d.batch.ShardID != "" {
		update += ", stream_shard = :shard"
		values[":shard"] = &types.AttributeValueMemberS{Value: d.batch.ShardID}
	}
	if place, err := placeOf(m.sequence); err == nil {
		update += ", seq = :seq"
		values[":seq"] = &types.AttributeValueMemberS{Value: place}
	}
	return &dynamodb.UpdateItemInput{
		TableName: &d.table, Key: attribute.Key(schema.AckKey(m.audit, m.pk, m.sk)),
		UpdateExpression: aws.String(update), ExpressionAttributeValues: values,
	}
}
