package throttle_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// dryIndex empties the bucket of the index's partition with the group hot. It returns five partition keys that are on
// different partitions of the table. The first has an item in hot, the second in cold, the third and the fourth none.
func dryIndex(t *testing.T) (*bench, []string) {
	b := newBench(t, throttle.Options{Partitions: 64, PartitionWCU: 20})
	if b.Partition("hot") == b.Partition("cold") {
		t.Fatal("hot and cold are on one partition")
	}
	keys := b.apart(t, 5)
	for _, item := range []values{
		itemOf(keys[0], "1", grouped("hot", "1")),
		itemOf(keys[1], "1", grouped("cold", "1")),
		itemOf(keys[4], "1", grouped("hot", "1")),
	} {
		require.NoError(t, b.put(t, item))
	}
	filler := itemOf(keys[4], "2", grouped("hot", "1"))
	filler["tag"] = s(strings.Repeat("x", 17*1024+900)) // 18 units, to make 20
	require.NoError(t, b.put(t, filler))
	return b, keys
}

// TestIndexPartition checks that a write is throttled if it changes an entry of the index's dry partition. It then
// changes nothing.
func TestIndexPartition(t *testing.T) {
	type call = func(b *bench, keys []string) error
	put := func(key int, more values) call {
		return func(b *bench, keys []string) error { return b.put(t, itemOf(keys[key], "1", more)) }
	}
	update := func(key int, expression string, v values) call {
		return func(b *bench, keys []string) error { return b.update(t, updateOf(keys[key], expression, v)) }
	}
	remove := func(key int) call {
		return func(b *bench, keys []string) error { return b.remove(t, keys[key], "1") }
	}
	x := values{":x": s("new")}
	tests := []struct {
		name      string
		call      call
		throttled bool
	}{
		{"put of a new entry", put(2, grouped("hot", "9")), true},
		{"put elsewhere", put(2, grouped("cold", "9")), false},
		{"put of half a key", put(2, values{"group": s("hot")}), false},
		{"put of the same item", put(0, grouped("hot", "1")), false},
		{"put that changes what the index lacks", put(0, values{"group": s("hot"), "rank": n("1.0"), "other": s("x")}), false},
		{"put that changes the sort key", put(0, grouped("hot", "2")), true},
		{"put that leaves", put(0, nil), true},
		{"put that moves away", put(0, grouped("cold", "1")), true},
		{"put that moves in", put(1, grouped("hot", "1")), true},
		{"update outside the projection", update(0, "SET #x = :x", x), false},
		{"update of the projection", update(0, "SET #x = :x, #t = :x", x), true},
		{"update that computes the projection", update(0, "SET #t = if_not_exists(#t, :x)", x), true},
		{"update of the projection elsewhere", update(1, "SET #t = :x", x), false},
		{"update that leaves", update(0, "REMOVE #x, #g", nil), true},
		{"update that moves in", update(1, "SET #g = :h", values{":h": s("hot")}), true},
		{"update that computes the sort key", update(0, "ADD #r :x", values{":x": n("5")}), true},
		{"update that makes an entry", update(2, "SET #g = :h, #r = :r", values{":h": s("hot"), ":r": n("1")}), true},
		{"update that makes half a key", update(2, "SET #r = :r", values{":r": n("1")}), false},
		{"delete", remove(0), true},
		{"delete elsewhere", remove(1), false},
		{"delete of nothing", remove(3), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b, keys := dryIndex(t)
			before := b.image(t)
			err := test.call(b, keys)
			if !test.throttled {
				require.NoError(t, err)
				return
			}
			wantThrottled(t, test.name, err, indexWriteThrottled)
			wantEqual(t, "a throttled write changed the table", before, b.image(t), ignoreUnexported)
		})
	}
}

// TestDryIndexInBatchAndTransaction checks that a batch leaves writes to the dry partition unprocessed, and that a
// transaction with such a write is cancelled.
func TestDryIndexInBatchAndTransaction(t *testing.T) {
	b, keys := dryIndex(t)
	puts := []types.WriteRequest{
		{PutRequest: &types.PutRequest{Item: itemOf(keys[2], "1", grouped("hot", "9"))}},
		{PutRequest: &types.PutRequest{Item: itemOf(keys[2], "2", grouped("cold", "9"))}},
		{DeleteRequest: &types.DeleteRequest{Key: keyOf(keys[0], "1")}},
	}
	left, err := b.batchWrite(t, map[string][]types.WriteRequest{tableName: puts})
	require.NoError(t, err)
	wantEqual(t, "unprocessed items", map[string][]types.WriteRequest{tableName: {puts[0], puts[2]}}, left, ignoreUnexported)
	_, err = b.db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: aws.String(tableName), Item: keyOf(keys[3], "1")}},
		{Delete: &types.Delete{TableName: aws.String(tableName), Key: keyOf(keys[0], "1")}},
	}})
	wantCancelled(t, "a transaction", err, "None", "ThrottlingError")
}

func codes(e *types.TransactionCanceledException) []string {
	var all []string
	for _, r := range e.CancellationReasons {
		all = append(all, aws.ToString(r.Code))
	}
	return all
}

// TestUpdateMovesEntry checks each form of an update that moves an index entry, with each ReturnValues. It costs a
// unit in both of the index's partitions.
func TestUpdateMovesEntry(t *testing.T) {
	b := newBench(t, roomy)
	expressions := map[string]values{
		"SET #g = :g":                     {":g": s("new")},
		"SET #g = #t":                     nil,
		"SET #g = if_not_exists(#x, :g)":  {":g": s("new")},
		"SET #g = :g, #r = #r + :n":       {":g": s("new"), ":n": n("1")},
		"SET #g = #t REMOVE #x ADD #r :n": {":n": n("1")},
	}
	for expression, v := range expressions {
		for _, returns := range append(types.ReturnValue("").Values(), "") {
			item := itemOf("a", "1", grouped("old", "1"))
			item["tag"] = s("new")
			require.NoError(t, b.put(t, item))
			b.advance(time.Second)
			in := updateOf("a", expression, v)
			in.ReturnValues = returns
			require.NoError(t, b.update(t, in))
			wantEqual(t, fmt.Sprintf("%s, returning %q", expression, returns), map[int]float64{b.Partition("old"): 1, b.Partition("new"): 1}, b.spent(byGroup))
		}
	}
	for _, returns := range append(types.ReturnValue("").Values(), "") { // only the entry's projection changes
		require.NoError(t, b.put(t, itemOf("a", "1", grouped("old", "1"))))
		b.advance(time.Second)
		in := updateOf("a", "SET #t = if_not_exists(#x, :g)", values{":g": s("new")})
		in.ReturnValues = returns
		require.NoError(t, b.update(t, in))
		wantEqual(t, fmt.Sprintf("the projection, returning %q", returns), map[int]float64{b.Partition("old"): 1}, b.spent(byGroup))
	}
}

// spent returns the write units that the partitions of an index have spent.
func (b *bench) spent(index string) map[int]float64 {
	units := map[int]float64{}
	for _, r := range b.Report().Tables {
		for i, p := range r.Partitions {
			if r.Index == index && p.WriteTokens < float64(p.WCU) {
				units[i] = float64(p.WCU) - p.WriteTokens
			}
		}
	}
	return units
}
