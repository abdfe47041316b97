package grow_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/grow"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// TestThrottledIndexGrowsNoName checks that no name grows if only an index throttles, and that the error names the index.
// Five customers of an adopted table place 30 orders a second, all with one status, the index's key. A partition takes
// 10 WCU/s.
func TestThrottledIndexGrowsNoName(t *testing.T) {
	d, now := libtest.Deploy(t), libtest.Later
	clock := func() time.Time { return now }
	client, _ := d.Limited(t, throttle.Options{Partitions: 64, PartitionWCU: 10, Burst: time.Second, Now: clock})
	name := withIndex(t, d.Client)
	changer := d.Changer(shardmap.ChangerOptions{})
	grower, err := grow.New(changer, grow.Options{Clock: clock, Partitions: func(string) int { return 64 }})
	if err != nil {
		t.Fatal(err)
	}
	observer := &oneAttempt{Grower: grower}
	orders := table.Table{
		Client: client, Name: name, PartitionKey: "customer", SortKey: "placed", Shards: changer, Observer: observer,
		Layout: table.CalculatedSuffix{Time: table.SortTime("placed", shard.Millis)}, Format: shard.HashShard, PlainFirst: true,
	}
	throttled := 0
	for i := range 300 {
		now = now.Add(time.Second / 30)
		var ctx context.Context
		ctx, observer.end = context.WithCancel(libtest.Within(t))
		err := orders.Put(ctx, table.Item{
			"customer": dynamo.String(fmt.Sprint("customer-", i%5)), "status": dynamo.String("open"),
			"placed": dynamo.String(shard.Millis.Key(now, "#", fmt.Sprint(i))),
		}, now)
		if !errors.Is(err, shard.ErrThrottled) {
			continue
		}
		if throttled++; !strings.Contains(err.Error(), "by_status") {
			t.Fatalf("error %v, want one that names by_status", err)
		}
	}
	if throttled < 100 {
		t.Fatalf("%d of 300 puts were throttled, want at least 100", throttled)
	}
	for i := range 5 {
		if entry, err := changer.Read(t.Context(), fmt.Sprint("customer-", i)); err != nil || entry.Most() != 1 {
			t.Errorf("customer %d has the changes %v, %v; want none", i, entry.History, err)
		}
	}
}

// withIndex creates a table with a global index by_status and returns its name.
func withIndex(t *testing.T, client *dynamodb.Client) string {
	t.Helper()
	key := func(name string, of types.KeyType) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: &name, KeyType: of}
	}
	name := "theirs-" + rand.Text()
	in := &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		KeySchema: []types.KeySchemaElement{key("customer", types.KeyTypeHash), key("placed", types.KeyTypeRange)},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String("by_status"), KeySchema: []types.KeySchemaElement{key("status", types.KeyTypeHash)},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}},
	}
	for _, attribute := range []string{"customer", "placed", "status"} {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &attribute, AttributeType: types.ScalarAttributeTypeS})
	}
	if _, err := client.CreateTable(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	return name
}
