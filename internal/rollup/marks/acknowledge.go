package marks

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/oklog/ulid/v2"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/rollup/parts"
	"github.com/hotshard/hotshard/internal/schema"
)

// Mark is a mark as it came through the stream.
type Mark struct {
	PK, SK   string
	Sequence string // of its record
	id       string // of its proof
}

// Of returns the mark that a record brings; ok is false for other records.
func Of(r *ddbstream.Record) (m Mark, ok bool) {
	m.Sequence = string(r.Sequence)
	m.PK, _ = r.Keys.String(schema.PK)
	m.SK, _ = r.Keys.String(schema.SK)
	m.id, ok = schema.ParseMark(m.SK)
	return m, ok && schema.HasMarks(m.PK, m.SK) && r.Name != ddbstream.Remove
}

// Acknowledge says, in the rollups table, that all that came by a stream shard before the
// mark is folded. Without the stream shard's name nobody can go by it.
func (m Mark) Acknowledge(ctx context.Context, client dynamo.Updater, table, streamShard string, now time.Time) error {
	update := "SET expires_at = :expires"
	values := dynamo.Item{":expires": dynamo.Number(now.Add(schema.MarkLifetime).Unix())}
	if streamShard != "" {
		update += ", stream_shard = :shard"
		values[":shard"] = dynamo.String(streamShard)
	}
	if seq, err := parts.Sequence(m.Sequence); err == nil {
		update += ", seq = :seq"
		values[":seq"] = dynamo.String(seq)
	}
	_, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &table, Key: dynamo.Key(schema.AckKey(m.id, m.PK, m.SK)),
		UpdateExpression: aws.String(update), ExpressionAttributeValues: values,
	})
	return err
}

// left begins the id of marks that stay until what they say is done.
const left = "delete-"

// Leave puts a mark that stays, for a day, into a partition of events: it says, also to
// one who goes on after this process was killed, that events of its day are deleted and
// that the day's rollups are still to be emptied. It returns the mark's sort key.
func (m *Marker) Leave(ctx context.Context, pk, day string) (sk string, err error) {
	sk = day + schema.MarkBefore + left + ulid.Make().String() + "#0"
	return sk, m.put(ctx, pk, sk)
}

// WasLeft tells whether an item with this sort key is a mark that stays.
func WasLeft(sk string) bool {
	id, ok := schema.ParseMark(sk)
	return ok && strings.HasPrefix(id, left)
}
