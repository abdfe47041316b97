package table_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// newOrders returns a sharded table of orders on a new table of DynamoDB.
func newOrders(t *testing.T, client table.Client, db *dynamodb.Client, layout table.Layout, n table.Fixed) *table.Table {
	t.Helper()
	return &table.Table{
		Client: client, Name: libtest.Theirs(t, db, "S"), PartitionKey: "customer", SortKey: "placed", Shards: n, Layout: layout,
	}
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
