package ddb_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/lane"
	"github.com/hotshard/hotshard/internal/local/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

func numeral(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

// TestSpellingsOfANumberAreOne: however a number is spelled, its item is on one write
// shard, and that is the one of the digits which DynamoDB gives back.
func TestSpellingsOfANumberAreOne(t *testing.T) {
	fewer(t, lane.Runs(10, 30))
	db := enginetest.Client(t)
	table := &ddb.Table{
		Client: db, Name: theirs(t, db, "N"), PartitionKey: "customer", SortKey: "placed", Shards: ddb.Fixed(16), Layout: ddb.CalculatedSuffix{},
	}
	names := 0
	rapid.Check(t, func(r *rapid.T) {
		digits, places := rapid.Int64Range(-1e15, 1e15).Draw(r, "digits"), rapid.IntRange(-100, 100).Draw(r, "places")
		names++
		name := fmt.Sprint("x", names)
		for _, s := range []string{
			fmt.Sprintf("%de%d", digits, places), fmt.Sprintf("%d.000E%+04d", digits, places), fmt.Sprintf("%d00e%d", digits, places-2),
		} {
			if err := table.Put(t.Context(), ddb.Item{"customer": str(name), "placed": numeral(s)}); err != nil {
				r.Fatal(s, err)
			}
		}
		checkOneShard(r, db, table, name)
	})
	for _, s := range []string{"x", "", "1/2", "0x10", "1_0", " 1", "Inf", "1e9999999999", "1e-9999999999"} {
		if err := table.Put(t.Context(), ddb.Item{"customer": str("bad"), "placed": numeral(s)}); !errors.Is(err, ddb.ErrMisused) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// checkOneShard finds a name's one item where the digits that the engine gives put it.
func checkOneShard(r *rapid.T, db *dynamodb.Client, table *ddb.Table, name string) {
	var items []ddb.Item
	for it, err := range table.Query(r.Context(), name, ddb.Span{}) {
		if err != nil {
			r.Fatal(err)
		}
		items = append(items, it)
	}
	if n, err := table.Count(r.Context(), name, ddb.Span{}); err != nil || n != 1 || len(items) != 1 {
		r.Fatalf("%d items are %d: %v", n, len(items), err)
	}
	pk := shard.Hash.Join(name, shard.Calculated(text(items[0]["placed"]), 16))
	out, err := db.Query(r.Context(), &dynamodb.QueryInput{
		TableName: &table.Name, KeyConditionExpression: aws.String("customer = :pk"), ExpressionAttributeValues: ddb.Item{":pk": str(pk)},
	})
	if err != nil || len(out.Items) != 1 {
		r.Fatalf("%s holds %v, %v", pk, out, err)
	}
	key := ddb.Item{"customer": str(name), "placed": items[0]["placed"]}
	if _, err := table.Get(r.Context(), key); err != nil {
		r.Fatal(err)
	}
}

// TestNumbersWithExponentsAreTimes: a stamp of Unix seconds is what it counts.
func TestNumbersWithExponentsAreTimes(t *testing.T) {
	t.Parallel()
	db := enginetest.Client(t)
	table := &ddb.Table{
		Client: db, Name: theirs(t, db, "N"), PartitionKey: "customer", SortKey: "placed", Shards: ddb.Fixed(2),
		Layout: ddb.TimeBuckets{Bucket: shard.Hour, Stamp: shard.UnixSeconds, By: "placed"},
	}
	for _, s := range []string{"1700000000", "1.7e9", "1700000000.0"} {
		if err := table.Put(t.Context(), ddb.Item{"customer": str("a"), "placed": numeral(s)}); err != nil {
			t.Fatal(err)
		}
	}
	n, err := table.Count(t.Context(), "a", ddb.Span{Low: numeral("1.6999e9"), High: numeral("1.7001e9")})
	if err != nil || n != 1 {
		t.Fatal(n, err)
	}
}
