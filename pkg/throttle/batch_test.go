package throttle_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// TestPartialBatchWrite checks that a batch writes what fits and leaves the rest unprocessed. It is throttled if nothing
// fits.
func TestPartialBatchWrite(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 64, PartitionWCU: 3})
	keys := b.apart(t, 2)
	hot := []values{keyOf(keys[0], "1"), itemOf(keys[0], "2", sized(1.5)), keyOf(keys[0], "3"), keyOf(keys[0], "4")}
	left, err := b.batchWrite(t, putRequests(append(hot, keyOf(keys[1], "1"))...))
	require.NoError(t, err)
	wantEqual(t, "unprocessed items", putRequests(hot[2:]...), left, ignoreUnexported)
	if got := len(b.image(t)); got != 3 {
		t.Errorf("%d items were written, want 3", got)
	}
	_, err = b.batchWrite(t, putRequests(hot[2:]...))
	wantThrottled(t, "a batch of which nothing fits", err, tableWriteThrottled)
	want := throttle.OperationStats{Operation: "BatchWriteItem", WriteUnits: 4, ThrottledRequests: 1, ThrottledItems: 2}
	wantEqual(t, "statistics", []throttle.OperationStats{want}, b.Stats().Operations)
}

// TestPartialBatchGet checks that a batch reads what fits and leaves the rest unprocessed. It is throttled if nothing fits.
func TestPartialBatchGet(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 64, PartitionWCU: 20, PartitionRCU: 2})
	keys := b.apart(t, 2)
	for _, item := range []values{itemOf(keys[0], "1", sized(6)), keyOf(keys[1], "1")} {
		require.NoError(t, b.put(t, item))
	}
	b.Reset()
	get := func(projection *string, wanted ...values) (*dynamodb.BatchGetItemOutput, error) {
		return b.db.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
			tableName: {Keys: wanted, ConsistentRead: aws.Bool(true), ProjectionExpression: projection},
		}})
	}
	hot := []values{keyOf(keys[0], "1"), keyOf(keys[0], "none"), keyOf(keys[0], "more")}
	out, err := get(aws.String("sk"), append(hot, keyOf(keys[1], "1"))...)
	require.NoError(t, err)
	want := types.KeysAndAttributes{Keys: hot[2:], ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String("sk")}
	wantEqual(t, "unprocessed keys", want, out.UnprocessedKeys[tableName], ignoreUnexported)
	if got := len(out.Responses[tableName]); got != 2 {
		t.Errorf("%d items were read, want 2", got)
	}
	_, err = get(nil, hot...)
	wantThrottled(t, "a batch of which nothing fits", err, tableReadThrottled)
	// The keys have 6 KB, no item, and a small item. The projection hides the sizes, so all share the cost.
	wantStats := throttle.OperationStats{Operation: "BatchGetItem", ReadUnits: 4, ThrottledRequests: 1, ThrottledItems: 1}
	wantEqual(t, "statistics", []throttle.OperationStats{wantStats}, b.Stats().Operations)
}

// TestTransactionPrice checks that a transaction costs twice the larger of the old and the new items. The same token again
// costs their transactional reads.
func TestTransactionPrice(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 64, PartitionWCU: 20})
	keys := b.apart(t, 5)
	for i, kb := range []float64{2.5, 1.5, 0, 3.5} {
		require.NoError(t, b.put(t, itemOf(keys[i], "1", sized(kb))))
	}
	b.Reset()
	name := aws.String(tableName)
	grow := updateOf(keys[2], "SET #x = :x, #g = :x, #r = :r", values{":x": sized(1.2)["data"], ":r": n("1")})
	input := &dynamodb.TransactWriteItemsInput{
		ClientRequestToken: aws.String("once"),
		TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{TableName: name, Item: keyOf(keys[0], "1")}},      // 3 units before
			{Delete: &types.Delete{TableName: name, Key: keyOf(keys[1], "1")}}, // 2 before
			{Update: &types.Update{TableName: name, Key: grow.Key, UpdateExpression: grow.UpdateExpression, //
				ExpressionAttributeNames: grow.ExpressionAttributeNames, ExpressionAttributeValues: grow.ExpressionAttributeValues}}, // 3 after; local index 1 (or 2), global 2
			{ConditionCheck: &types.ConditionCheck{TableName: name, Key: keyOf(keys[3], "1"), ConditionExpression: aws.String("attribute_exists(pk)")}}, // 4
			{Put: &types.Put{TableName: name, Item: keyOf(keys[4], "1")}},                                                                               // 1
		},
	}
	out, err := b.db.TransactWriteItems(t.Context(), input)
	require.NoError(t, err)
	if out.ConsumedCapacity != nil {
		t.Error("the response has a ConsumedCapacity that was not asked for")
	}
	want := []throttle.SpaceStats{
		{Table: tableName, WriteUnits: 2*(3+2+3+4+1) + 1, Partitions: 64}, // an index is written once
		{Table: tableName, Index: byGroup, WriteUnits: 2, Partitions: 64},
	}
	wantEqual(t, "a transaction", want, b.Stats().Spaces)
	b.Reset()
	_, err = b.db.TransactWriteItems(t.Context(), input)
	require.NoError(t, err)
	want = []throttle.SpaceStats{{Table: tableName, ReadUnits: 2 * 5, Partitions: 64}}
	wantEqual(t, "the same token again", want, b.Stats().Spaces)
}
