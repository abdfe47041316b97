package table_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// numeral returns a number attribute with this text.
func numeral(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

// TestEqualNumbersHaveOneWriteShard checks that all spellings of a number have the write shard of the digits that
// DynamoDB returns.
func TestEqualNumbersHaveOneWriteShard(t *testing.T) {
	fewer(t, require.Runs(10, 30))
	db := enginetest.Client(t)
	sharded := &table.Table{
		Client: db, Name: libtest.Theirs(t, db, "N"), PartitionKey: "customer", SortKey: "placed", Shards: table.Fixed(16), Layout: table.CalculatedSuffix{},
	}
	names := 0
	rapid.Check(t, func(r *rapid.T) {
		digits, places := rapid.Int64Range(-1e15, 1e15).Draw(r, "digits"), rapid.IntRange(-100, 100).Draw(r, "places")
		names++
		name := fmt.Sprint("x", names)
		for _, s := range []string{
			fmt.Sprintf("%de%d", digits, places), fmt.Sprintf("%d.000E%+04d", digits, places), fmt.Sprintf("%d00e%d", digits, places-2),
		} {
			if err := sharded.Put(t.Context(), table.Item{"customer": libtest.Str(name), "placed": numeral(s)}, libtest.Epoch); err != nil {
				r.Fatal(s, err)
			}
		}
		checkOneShard(r, db, sharded, name)
	})
	for _, s := range []string{"x", "", "1/2", "0x10", "1_0", " 1", "Inf", "1e9999999999", "1e-9999999999"} {
		if err := sharded.Put(t.Context(), table.Item{"customer": libtest.Str("bad"), "placed": numeral(s)}, libtest.Epoch); !errors.Is(err, shard.ErrMisused) {
			t.Errorf("number %q: error %v, want ErrMisused", s, err)
		}
	}
}

// checkOneShard checks that a name has one item, on the write shard of the digits that the engine returns.
func checkOneShard(r *rapid.T, db *dynamodb.Client, sharded *table.Table, name string) {
	var items []table.Item
	for it, err := range sharded.Query(r.Context(), name, table.Span{}, libtest.Epoch) {
		if err != nil {
			r.Fatal(err)
		}
		items = append(items, it)
	}
	if len(items) != 1 {
		r.Fatalf("read %d items, want 1", len(items))
	}
	pk := shard.Hash.Join(name, shard.Calculated(libtest.Text(items[0]["placed"]), 16))
	out, err := db.Query(r.Context(), &dynamodb.QueryInput{
		TableName: &sharded.Name, KeyConditionExpression: aws.String("customer = :pk"), ExpressionAttributeValues: table.Item{":pk": libtest.Str(pk)},
	})
	if err != nil || len(out.Items) != 1 {
		r.Fatalf("%s has %v, %v; want 1 item", pk, out, err)
	}
	key := table.Item{"customer": libtest.Str(name), "placed": items[0]["placed"]}
	if _, err := sharded.Get(r.Context(), key, libtest.Epoch); err != nil {
		r.Fatal(err)
	}
}

// TestEqualNumbersAreOneTime checks that all spellings of Unix seconds have one time bucket and write shard.
func TestEqualNumbersAreOneTime(t *testing.T) {
	t.Parallel()
	db := enginetest.Client(t)
	sharded := &table.Table{
		Client: db, Name: libtest.Theirs(t, db, "N"), PartitionKey: "customer", SortKey: "placed", Shards: table.Fixed(2),
		Layout: table.TimeBuckets{Bucket: shard.Hour, Stamp: shard.UnixSeconds, By: "placed"},
	}
	for _, s := range []string{"1700000000", "1.7e9", "1700000000.0"} {
		if err := sharded.Put(t.Context(), table.Item{"customer": libtest.Str("acme"), "placed": numeral(s)}, libtest.Epoch); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(idsOf(t, sharded, table.Span{Low: numeral("1.6999e9"), High: numeral("1.7001e9")})); n != 1 {
		t.Fatalf("read %d items, want 1", n)
	}
}
