package throttle_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// admitted returns the number of successful calls before the first throttled one, and that one's error.
func admitted(t *testing.T, call func() error) (int, error) {
	t.Helper()
	for count := range 1000 {
		if err := call(); err != nil {
			return count, err
		}
	}
	t.Fatal("nothing was throttled")
	return 0, nil
}

// TestHotReads checks the costs of reads, and the reasons with which a dry bucket throttles them.
func TestHotReads(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 1, PartitionWCU: 10, PartitionRCU: 2})
	require.NoError(t, b.put(t, itemOf("a", "1", sized(7))))
	read := func(pk string, consistent bool) any {
		return &dynamodb.GetItemInput{TableName: aws.String(tableName), Key: keyOf(pk, "1"), ConsistentRead: &consistent}
	}
	query := &dynamodb.QueryInput{
		TableName: aws.String(tableName), IndexName: aws.String(byGroup),
		KeyConditionExpression:    aws.String("#g = :g and #r > :r"),
		ExpressionAttributeNames:  map[string]string{"#g": "group", "#r": "rank"},
		ExpressionAttributeValues: values{":g": s("none"), ":r": n("0")},
	}
	tests := []struct {
		name   string
		input  any
		want   int
		reason string
	}{
		{"strong reads of 2 units", read("a", true), 1, tableReadThrottled},
		{"eventual reads of 1 unit", read("a", false), 2, tableReadThrottled},
		{"eventual reads of nothing", read("none", false), 4, tableReadThrottled},
		{"scans of 1 unit", &dynamodb.ScanInput{TableName: aws.String(tableName)}, 2, tableReadThrottled},
		{"queries of an index that find nothing", query, 4, "IndexReadKeyRangeThroughputExceeded " + indexARN},
	}
	for _, test := range tests {
		b.advance(time.Minute)
		count, err := admitted(t, func() error { return b.send(t, test.input) })
		if count != test.want {
			t.Errorf("%s: %d admitted, want %d", test.name, count, test.want)
		}
		wantThrottled(t, test.name, err, test.reason)
	}
}
