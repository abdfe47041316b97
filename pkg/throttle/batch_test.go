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
