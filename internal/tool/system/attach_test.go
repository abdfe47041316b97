package system

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
)

// foreignTable creates a table as a program without hotshard does.
func foreignTable(t *testing.T, db *dynamodb.Client, name string) {
	t.Helper()
	_, err := db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("customer"), AttributeType: "S"}, {AttributeName: aws.String("placed"), AttributeType: "S"}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("customer"), KeyType: "HASH"}, {AttributeName: aws.String("placed"), KeyType: "RANGE"}},
		StreamSpecification:  &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	})
	require.NoError(t, err)
}

// TestAttachedDetectorAdvises checks that a detector that is attached to another table lists its hot key with advice.
func TestAttachedDetectorAdvises(t *testing.T) {
	const limit = 40
	db := dynamolocal.DynamoDB(enginetest.Endpoint(t), "") // the system's account
	name := enginetest.Prefix("attached") + "orders"
	foreignTable(t, db, name)
	s, stop := startWith(t, func(o *Options) {
		o.Window = 2 * time.Second
		o.Limits = Limits{Partitions: 1000, PartitionWCU: limit, Seed: 7}
		o.Attach = name
	})
	defer stop()
	tick := time.NewTicker(time.Second / (limit * 9 / 10))
	defer tick.Stop()
	for deadline, n := time.Now().Add(2*time.Minute), 0; ; n++ {
		now := <-tick.C
		item := map[string]types.AttributeValue{"customer": &types.AttributeValueMemberS{Value: "acme"}, "placed": &types.AttributeValueMemberS{Value: shard.Millis.Key(now, "#", "order")}}
		_, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: item})
		require.NoError(t, err)
		if n%limit == 0 && advises(t, s.URL(), name) {
			return
		}
		if now.After(deadline) {
			t.Fatal("no advice for two minutes")
		}
	}
}

// advises reports whether the hottest key is the table's, with advice.
func advises(t *testing.T, url, table string) bool {
	t.Helper()
	response, err := http.Get(url + "/v1/hot-keys")
	require.NoError(t, err)
	defer response.Body.Close()
	var got struct {
		Keys []struct{ Table, Key, Status, Advice string }
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&got))
	if len(got.Keys) == 0 || got.Keys[0].Status == "normal" {
		return false
	}
	if k := got.Keys[0]; k.Table != table || k.Key != "acme" || !strings.Contains(k.Advice, "Split it across ") || !strings.Contains(k.Advice, "times as many write shards") {
		t.Errorf("%+v: want advice on acme of %s", k, table)
	}
	return true
}
