package system

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/setup"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// throttles counts throttled attempts, and accepted ones on write shards above 0.
type throttles struct{ throttled, spread atomic.Int64 }

func (o *throttles) ObserveAttempt(_ context.Context, a shard.Attempt) {
	switch {
	case a.Outcome == shard.Throttled:
		o.throttled.Add(1)
	case a.Outcome == shard.Accepted && a.Shard > 0:
		o.spread.Add(1)
	}
}

// foreignTable creates a table as a program without hotshard does. It returns the sort keys of acme's orders.
func foreignTable(t *testing.T, db *dynamodb.Client, name string) (keys []string) {
	t.Helper()
	_, err := db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("customer"), AttributeType: "S"}, {AttributeName: aws.String("placed"), AttributeType: "S"}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("customer"), KeyType: "HASH"}, {AttributeName: aws.String("placed"), KeyType: "RANGE"}},
		StreamSpecification:  &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now().Add(-time.Hour)
	for i := range 60 {
		key := shard.Millis.Key(begin.Add(time.Duration(i)*time.Second), "#", fmt.Sprint("order-", i))
		customer := "acme"
		if i%3 == 0 {
			customer = fmt.Sprint("customer-", i)
		} else {
			keys = append(keys, key)
		}
		if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: order(customer, key)}); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

func order(customer, placed string) table.Item {
	return table.Item{"customer": &types.AttributeValueMemberS{Value: customer}, "placed": &types.AttributeValueMemberS{Value: placed}}
}

// TestAttachedDetectorGrowsAheadOfThrottles adopts a table that a plain program wrote. The attached detector must add
// write shards at three quarters of a partition's limit. Twice the limit must then not be throttled. The program has no
// grower.
func TestAttachedDetectorGrowsAheadOfThrottles(t *testing.T) {
	const limit = 40
	db := dynamolocal.DynamoDB(enginetest.Endpoint(t), "") // the system's account
	name := enginetest.Prefix("adopted") + "orders"
	before := foreignTable(t, db, name)
	if err := setup.CreateShardMap(t.Context(), db, name+"-map"); err != nil {
		t.Fatal(err)
	}
	s, stop := startWith(t, func(o *Options) {
		o.Window = 2 * time.Second
		o.Limits = Limits{Partitions: 1000, PartitionWCU: limit, Seed: 7}
		o.Attach = Attach{Table: name, Map: name + "-map", Layout: "calculated", Format: "#SHARD_", Max: 24}
	})
	defer stop()
	shards := shardmap.New(db, name+"-map", shardmap.Options{})
	seen := &throttles{}
	orders := &table.Table{
		Client: dynamolocal.DynamoDB(s.LimitedEndpoint(), ""), Name: name, PartitionKey: "customer", SortKey: "placed",
		Shards: shards, Observer: seen, Layout: table.CalculatedSuffix{Time: table.SortTime("placed", shard.Millis)},
		Format: shard.HashShard, PlainFirst: true,
	}
	var mu sync.Mutex
	var sold []string
	n := 0
	sell := func(rate int, until func() bool) {
		t.Helper()
		var group sync.WaitGroup
		defer group.Wait()
		tick := time.NewTicker(time.Second / time.Duration(rate))
		defer tick.Stop()
		for deadline := time.Now().Add(2 * time.Minute); !until(); <-tick.C {
			if time.Now().After(deadline) {
				t.Fatal("the condition was false for two minutes")
			}
			n++
			id := fmt.Sprint("sold-", n)
			group.Go(func() {
				now := time.Now()
				key := shard.Millis.Key(now, "#", id)
				if err := orders.Put(t.Context(), order("acme", key), now); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				sold = append(sold, key)
			})
		}
	}
	grown := func() bool {
		entry, err := shards.Lookup(t.Context(), "acme", time.Now())
		return err == nil && entry.History.At(time.Now()) > 1
	}
	sell(limit*3/4, grown)
	if seen.throttled.Load() > 0 || seen.spread.Load() > 0 {
		t.Errorf("before growth: %d attempts throttled, %d on other write shards; want none", seen.throttled.Load(), seen.spread.Load())
	}
	entry, err := shards.Read(t.Context(), "acme")
	if err != nil || entry.Most() > 24 || entry.Notes[entry.History[len(entry.History)-1].At.UnixMilli()].By != "hotkeys" {
		t.Errorf("entry %+v, %v; want growth by hotkeys to at most 24", entry, err)
	}
	twice := n + 4*limit
	sell(2*limit, func() bool { return n > twice })
	if seen.throttled.Load() > 0 || seen.spread.Load() == 0 {
		t.Errorf("at twice the limit on %d write shards: %d attempts throttled, %d on other write shards; want none and some", entry.History.Newest(), seen.throttled.Load(), seen.spread.Load())
	}
	want := slices.Sorted(slices.Values(slices.Concat(before, sold)))
	var got []string
	for it, err := range orders.Query(t.Context(), "acme", table.Span{Consistent: true}, time.Now()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, it["placed"].(*types.AttributeValueMemberS).Value)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d orders are read, want %d", len(got), len(want))
	}
	response, err := http.Get(s.URL() + "/v1/explain?table=" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var why struct{ Table string }
	if err := json.NewDecoder(response.Body).Decode(&why); err != nil || why.Table != name {
		t.Errorf("GET /v1/explain: %s, table %q, %v; want %s", response.Status, why.Table, err, name)
	}
	if other, err := shards.Lookup(t.Context(), "customer-0", time.Now()); err != nil || other.Most() > 1 {
		t.Errorf("entry of a cold customer: %+v, %v; want one write shard", other, err)
	}
}
