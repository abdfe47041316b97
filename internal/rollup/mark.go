package rollup

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/schema"
)

// acknowledge answers the marks of a batch before which everything was folded.
// Those behind a record that must come again come again with it.
func (d *delivery) acknowledge(ctx context.Context) {
	for i := range d.batch.Records[:d.folded()] {
		r := &d.batch.Records[i]
		pk, _ := r.Keys.String(schema.PK)
		sk, _ := r.Keys.String(schema.SK)
		audit, ok := schema.ParseMark(sk)
		if !ok || r.Name == ddbstream.Remove {
			continue
		}
		if _, err := d.client.UpdateItem(ctx, d.ack(audit, pk, sk)); err != nil {
			d.retry(fmt.Errorf("acknowledging a mark of %q: %w", pk, err), r.Sequence)
			return
		}
	}
}

// folded is how many of the batch's first records need not come again.
func (d *delivery) folded() int {
	again := map[string]bool{}
	for _, sequence := range d.again {
		again[sequence] = true
	}
	at := slices.IndexFunc(d.batch.Records, func(r ddbstream.Record) bool { return again[r.Sequence] })
	if at < 0 {
		return len(d.batch.Records)
	}
	return at
}

func (d *delivery) ack(audit, pk, sk string) *dynamodb.UpdateItemInput {
	update := "SET expires_at = :expires"
	values := map[string]types.AttributeValue{
		":expires": number(d.now().Add(schema.MarkLifetime).Unix()),
	}
	if d.batch.ShardID != "" {
		update += ", stream_shard = :shard"
		values[":shard"] = &types.AttributeValueMemberS{Value: d.batch.ShardID}
	}
	return &dynamodb.UpdateItemInput{
		TableName: &d.table, Key: itemKey(schema.AckKey(audit, pk, sk)),
		UpdateExpression: aws.String(update), ExpressionAttributeValues: values,
	}
}
