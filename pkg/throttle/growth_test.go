package throttle_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// sortedTable has a sort key and no index.
func sortedTable() *dynamodb.CreateTableInput {
	table := onDemandTable()
	table.AttributeDefinitions, table.LocalSecondaryIndexes, table.GlobalSecondaryIndexes = table.AttributeDefinitions[:2], nil, nil
	return table
}

// TestSplitWithinKey checks that one hot partition key splits by its sort keys, unless the table has a local index.
func TestSplitWithinKey(t *testing.T) {
	for want, table := range map[int]*dynamodb.CreateTableInput{1: onDemandTable(), 2: sortedTable()} {
		b := newBench(t, throttle.Options{Partitions: 1, PartitionWCU: 2, SplitAfter: 3 * time.Second}, table)
		for range 5 {
			for i := range 7 {
				_ = b.put(t, keyOf("hot", fmt.Sprint(i*3%7))) // some are throttled
			}
			b.advance(time.Second)
		}
		if got := b.Partitions(tableName); got != want {
			t.Errorf("%d partitions, want %d", got, want)
		}
		if parts := b.Report().Tables[0].Partitions; want == 2 && (parts[0].To != parts[1].From || parts[1].FromSortKey == "") {
			t.Errorf("the partitions are %+v", parts)
		}
	}
}

// halves returns keys in the lower and the upper half of all hashes.
func (b *bench) halves(t *testing.T) (low, high string) {
	t.Helper()
	two, err := throttle.New(throttle.Options{Partitions: 2, PartitionWCU: 1})
	require.NoError(t, err)
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		if two.Partition(key) == 0 {
			low = key
		} else {
			high = key
		}
	}
	return low, high
}
