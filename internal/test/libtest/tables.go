package libtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Theirs creates a user's table and returns its name. The table has the key names customer and
// placed, and this sort key type.
func Theirs(t testing.TB, client *dynamodb.Client, sort types.ScalarAttributeType) string {
	t.Helper()
	name := "theirs-" + rand.Text()
	require.NoError(t, createTable(client, name, "customer", "placed", sort))
	return name
}

// createTable creates a table with a partition key of type S.
func createTable(client *dynamodb.Client, name, partitionKey, sortKey string, sort types.ScalarAttributeType) error {
	_, err := client.CreateTable(context.Background(), &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: &partitionKey, AttributeType: "S"}, {AttributeName: &sortKey, AttributeType: sort},
		},
		KeySchema: []types.KeySchemaElement{{AttributeName: &partitionKey, KeyType: "HASH"}, {AttributeName: &sortKey, KeyType: "RANGE"}},
	})
	return err
}

// Text returns the text or the digits of a value, or "" for other types.
func Text(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return ""
}

func Str(s string) types.AttributeValue { return dynamo.String(s) }

func Num(n int64) types.AttributeValue { return dynamo.Number(n) }

// Steps is a shard map with a fixed history.
type Steps struct{ History shard.History }

func (s Steps) Lookup(context.Context, string, time.Time) (shardmap.Entry, error) {
	return shardmap.Entry{History: s.History, Max: s.History.Max(time.Time{}, time.Unix(1e10, 0)), Version: int64(len(s.History))}, nil
}

// Epoch is a time in the past, for tests without a shard map. A test that changes a map needs Later: every ten seconds
// the engine deletes what has expired by its clock, and a change of Epoch expired in the map's log two hours after it.
var Epoch = time.Date(2026, 1, 5, 22, 0, 0, 0, time.UTC)

// Order returns the order with number n. All orders have the same sort key, a day.
func Order(n int) dynamo.Item {
	return dynamo.Item{"customer": Str("acme"), "placed": Str("2026-01-05T00:00:00.000Z"), "id": Str(fmt.Sprint("order-", n))}
}
