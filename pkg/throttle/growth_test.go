package throttle_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
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
	require.NoError(t, b.put(t, large("more")))
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

// counting is an engine that counts its calls and the bytes of its responses.
type counting struct{ calls, bytes int }

func (c *counting) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := dynamolocal.Transport().RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	c.calls++
	c.bytes += len(body)
	return resp, err
}

// TestSizesCostLittle checks that PartitionBytes of AWS's size adds no calls of the engine, and makes no response longer.
func TestSizesCostLittle(t *testing.T) {
	const writes = 50
	var engines [2]counting
	for i, size := range []int64{0, 10_000_000_000} {
		b := newBench(t, throttle.Options{Partitions: 1, PartitionWCU: 10_000, PartitionBytes: size, Base: &engines[i]}, sortedTable())
		for range writes {
			require.NoError(t, b.put(t, itemOf("a", "1", sized(10))))
			update := updateOf("a", "SET #x = :x", values{":x": n("1")})
			update.ReturnValues = types.ReturnValueUpdatedNew
			require.NoError(t, b.update(t, update))
			require.NoError(t, b.remove(t, "b", "1"))
		}
	}
	t.Logf("%d writes without sizes, and with them: %+v", 3*writes, engines)
	if a, b := engines[0], engines[1]; a.calls != b.calls || b.bytes-a.bytes > 200 || a.bytes-b.bytes > 200 {
		t.Errorf("%d writes make %d calls with %d bytes, and with sizes %d with %d", 3*writes, a.calls, a.bytes, b.calls, b.bytes)
	}
}
