package table_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// newOrders returns a sharded table of orders on a new table of DynamoDB.
func newOrders(t *testing.T, client table.Client, db *dynamodb.Client, layout table.Layout, n table.Fixed) *table.Table {
	t.Helper()
	return &table.Table{
		Client: client, Name: libtest.Theirs(t, db, "S"), PartitionKey: "customer", SortKey: "placed", Shards: n, Layout: layout,
	}
}

// putDay puts 20 orders with the same sort key and returns the ids of those that can be stored:
// one for each write shard.
func putDay(t *testing.T, sharded *table.Table, shards int) []string {
	t.Helper()
	kept := map[int]string{}
	for n := range 20 {
		id := libtest.Text(libtest.Order(n)["id"])
		at := shard.Calculated(id, shards)
		it := libtest.Order(n)
		it["n"] = libtest.Num(int64(n))
		err := sharded.Put(t.Context(), it, libtest.Epoch)
		if _, taken := kept[at]; taken != errors.Is(err, shard.ErrMisused) || !taken && err != nil {
			t.Fatalf("%s on write shard %d beside %v: %v", id, at, kept, err)
		}
		if err == nil {
			kept[at] = id
		}
	}
	return slices.Sorted(maps.Values(kept))
}

// idsOf returns the ids of the items of customer acme in a span, in order.
func idsOf(t *testing.T, sharded *table.Table, s table.Span) []string {
	t.Helper()
	var list []string
	for it, err := range sharded.Query(t.Context(), "acme", s, libtest.Epoch) {
		require.NoError(t, err)
		list = append(list, libtest.Text(it["id"]))
	}
	return list
}
