package throttle_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// TestSplitBySize checks that a table splits by the size of its items, which all kinds of writes add up. An item that is
// written again counts once. Items from before the limiter count.
func TestSplitBySize(t *testing.T) {
	options := throttle.Options{Partitions: 1, PartitionWCU: 1000, PartitionBytes: 50_000}
	b := newBench(t, options, sortedTable())
	large := func(pk string) values { return itemOf(pk, "1", sized(10)) }
	want := func(partitions int, what string) {
		t.Helper()
		if got := b.Partitions(tableName); got != partitions {
			t.Errorf("%s: %d partitions, want %d", what, got, partitions)
		}
	}
	for range 9 {
		require.NoError(t, b.put(t, large("again")))
	}
	_, err := b.batchWrite(t, putRequests(large("batch"), large("again")))
	require.NoError(t, err)
	require.NoError(t, b.transact(t, "", large("transaction")))
	require.NoError(t, b.execute(t, `INSERT INTO limited VALUE {'pk':'statement','sk':'1','data':?}`, sized(10)["data"]))
	want(1, "four items of 10 kB")
	require.NoError(t, b.update(t, updateOf("update", "SET #x = :x", values{":x": sized(10)["data"]})))
	want(2, "five items")
	if bytes := b.Report().Tables[0].Bytes; bytes < 50_000 || bytes > 51_000 {
		t.Errorf("five items have %d bytes", bytes)
	}

	b = newBench(t, options)
	for i := range 6 {
		item := itemOf(fmt.Sprint(i), "1", grouped("g", "1"))
		item["tag"] = sized(10)["data"]
		_, err := b.direct.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: item})
		require.NoError(t, err)
	}
	require.NoError(t, b.put(t, keyOf("first", "1")))
	want(2, "six items from before the limiter")
	if index := b.Report().Tables[1]; len(index.Partitions) != 2 {
		t.Errorf("the index of %d bytes has %d partitions, want 2", index.Bytes, len(index.Partitions))
	}
}

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

// TestOnDemandGrowth checks that an on-demand table has partitions for twice its peak after GrowAfter.
func TestOnDemandGrowth(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 2, PartitionWCU: 4, GrowAfter: time.Minute}, sortedTable())
	for range 80 {
		for i := range 8 {
			_ = b.put(t, keyOf(fmt.Sprint("k", i), "1"))
		}
		b.advance(time.Second)
	}
	if got := b.Partitions(tableName); got < 3 || got > 4 {
		t.Errorf("%d partitions after a minute at up to 8 WCU/s, want 3 or 4", got)
	}
}

// TestWarmTables checks that tables have the partitions for their provisioned or warm throughput from the start.
func TestWarmTables(t *testing.T) {
	provisioned := sortedTable()
	provisioned.BillingMode = types.BillingModeProvisioned
	provisioned.ProvisionedThroughput = &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(10), WriteCapacityUnits: aws.Int64(70)}
	warm := sortedTable()
	warm.WarmThroughput = &types.WarmThroughput{ReadUnitsPerSecond: aws.Int64(30_000), WriteUnitsPerSecond: aws.Int64(10_000)}
	warm.GlobalSecondaryIndexes = onDemandTable().GlobalSecondaryIndexes
	warm.AttributeDefinitions = onDemandTable().AttributeDefinitions[:4]
	warm.GlobalSecondaryIndexes[0].WarmThroughput = &types.WarmThroughput{WriteUnitsPerSecond: aws.Int64(6000)}
	for want, test := range map[int]struct {
		table *dynamodb.CreateTableInput
		wcu   int
	}{7: {provisioned, 10}, 10: {warm, 1000}} {
		b := newBench(t, throttle.Options{Partitions: 4, PartitionWCU: test.wcu}, test.table)
		require.NoError(t, b.put(t, keyOf("a", "1")))
		if got := b.Partitions(tableName); got != want {
			t.Errorf("%s: %d partitions, want %d", test.table.BillingMode, got, want)
		}
		if r := b.Report().Tables; want == 10 && len(r[1].Partitions) != 6 {
			t.Errorf("the warm index has %d partitions, want 6", len(r[1].Partitions))
		}
	}
}
