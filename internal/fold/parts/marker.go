package parts

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/client"
)

// Marker is a stream marker that was read from the stream.
type Marker struct {
	PK, SK   string
	Sequence string // sequence number of the marker's record
	id       string // identifies the check that wrote the marker
}

// MarkerOf returns the stream marker that a record puts; ok is false for other records, also for a marker's delete.
func MarkerOf(r *ddbstream.Record) (m Marker, ok bool) {
	m.Sequence = string(r.Sequence)
	m.PK, _ = r.Keys.String(schema.PK)
	m.SK, _ = r.Keys.String(schema.SK)
	m.id, ok = schema.ParseMarker(m.SK)
	return m, ok && schema.MayBeMarker(m.PK, m.SK) && r.Name != ddbstream.Remove
}

// Acknowledge stores in the rollups table that all records of a stream shard before the marker are
// folded. An acknowledgement without the stream shard's name proves nothing.
func (m Marker) Acknowledge(ctx context.Context, client client.Updater, table, streamShard string, now time.Time) error {
	update := "SET expires_at = :expires"
	values := dynamo.Item{":expires": dynamo.Number(now.Add(schema.MarkerLifetime).Unix())}
	if streamShard != "" {
		update += ", stream_shard = :shard"
		values[":shard"] = dynamo.String(streamShard)
	}
	if seq, err := Sequence(m.Sequence); err == nil {
		update += ", seq = :seq"
		values[":seq"] = dynamo.String(seq)
	}
	_, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &table, Key: dynamo.Key(schema.AckKey(m.id, m.PK, m.SK)),
		UpdateExpression: aws.String(update), ExpressionAttributeValues: values,
	})
	return err
}
