package eventsource_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/go-json-experiment/json"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/require"
)

// cancelTransaction makes a transaction whose second write fails. Its first write takes a sequence number of the stream, and
// leaves no record.
func (b *bench) cancelTransaction(t *testing.T) {
	t.Helper()
	write := func(sk, condition string) types.TransactWriteItem {
		return types.TransactWriteItem{Put: &types.Put{
			TableName: &b.names.Items, ConditionExpression: &condition, Item: map[string]types.AttributeValue{
				schema.PK: &types.AttributeValueMemberS{Value: "k"}, schema.SK: &types.AttributeValueMemberS{Value: sk},
			},
		}}
	}
	_, err := b.db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		write("first", "attribute_not_exists(pk)"), write("second", "attribute_exists(pk)"),
	}})
	if !errors.As(err, new(*types.TransactionCanceledException)) {
		t.Fatalf("the transaction returned %v, want its cancellation", err)
	}
}

// TestReaderOpenedBeforeFirstRecord checks that a reader of an empty stream shard reads the records that follow.
func TestReaderOpenedBeforeFirstRecord(t *testing.T) {
	b := newBench(t, nil)
	b.cancelTransaction(t)
	shards, err := b.options.Source.Shards(t.Context())
	if err != nil || len(shards) != 1 {
		t.Fatalf("shards are %v, %v", shards, err)
	}
	r := b.options.Source.Open(shards[0].ID, "")
	if records, closed, err := r.Next(t.Context(), 100); len(records) > 0 || closed || err != nil {
		t.Fatalf("an empty stream shard has records %v, closed %t, %v", records, closed, err)
	}
	want := b.put(t, 0, 5)
	var got []string
	eventually(t, "the records", func() bool {
		records, _, err := r.Next(t.Context(), 100)
		require.NoError(t, err)
		for _, rec := range records {
			got = append(got, change(t, rec).Change.Keys[schema.SK].String())
		}
		return len(got) >= len(want)
	})
	if !slices.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
}

// change decodes a record as a Lambda function does.
func change(t *testing.T, r eventsource.Record) (e events.DynamoDBEventRecord) {
	t.Helper()
	require.NoError(t, json.Unmarshal(r.JSON, &e))
	return e
}
