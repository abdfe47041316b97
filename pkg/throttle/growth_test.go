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

// TestSplit checks that a table's hot partition splits after SplitAfter and then takes twice
// the throughput. Other partitions and the index do not split.
func TestSplit(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 1, PartitionWCU: 2, SplitAfter: 3 * time.Second})
	low, high := b.halves(t)
	second := func(keys ...string) (admitted int) {
		for _, key := range keys {
			for range 4 {
				if b.put(t, keyOf(key, "1")) == nil {
					admitted++
				}
			}
		}
		b.advance(time.Second)
		return admitted
	}
	for i, want := range []int{2, 2, 2, 2} { // throttled from the first second on
		if got := second(low, high); got != want || b.Partitions(tableName) != 1 && i < 3 {
			t.Errorf("second %d: %d admitted on %d partitions, want %d", i, got, b.Partitions(tableName), want)
		}
	}
	if got := second(low, high); got != 4 || b.Partitions(tableName) != 2 {
		t.Errorf("after the split: %d admitted on %d partitions, want 4 on 2", got, b.Partitions(tableName))
	}
	if splits := b.Splits(tableName); len(splits) != 1 || splits[0].Partitions != 2 || splits[0].Index != "" || splits[0].Time.IsZero() {
		t.Errorf("splits: %+v", splits)
	}
	for range 6 { // a single key does not split its partition
		second(low)
	}
	if got := b.Partitions(tableName); got != 2 {
		t.Errorf("one hot key has split its partition: there are %d", got)
	}
	for _, s := range b.Stats().Spaces {
		if s.Partitions != 2 {
			t.Errorf("statistics have %d partitions", s.Partitions)
		}
	}
	if got := b.Partitions("unknown"); got != 1 {
		t.Errorf("an unknown table has %d partitions", got)
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
