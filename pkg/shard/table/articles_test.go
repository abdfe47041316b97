package table_test

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// These are the formulas of articles, in code that shares nothing with the library.

// guide is the Developer Guide's formula: the sum of the code points modulo 200, plus 1.
func guide(id string) int {
	sum := 0
	for _, r := range id {
		sum += int(r)
	}
	return sum%200 + 1
}

// digest is int(sha256(text).hexdigest(), 16) % n.
func digest(text string, n int64) int64 {
	sum := sha256.Sum256([]byte(text))
	return new(big.Int).Mod(new(big.Int).SetBytes(sum[:]), big.NewInt(n)).Int64()
}

// article describes items that programs of an article stored, and the table that reads them.
type article struct {
	name   string
	sort   types.ScalarAttributeType
	store  func(i int, id string, at time.Time) (pk, sk string) // the key of item i
	read   string                                               // the name to read
	table  table.Table
	stamp  shard.Stamp
	random bool // Get finds no single item
}

var articles = []article{
	{
		name: "guide, random suffix", sort: "S", read: "2014-07-09", stamp: shard.Seconds, random: true,
		store: func(i int, id string, at time.Time) (string, string) {
			return fmt.Sprintf("2014-07-09.%d", 1+i*7%200), at.Format("2006-01-02T15:04:05Z") + "#" + id
		},
		table: table.Table{Format: ".", First: 1, Shards: table.Fixed(200), Layout: table.RandomSuffix{}},
	},
	{
		name: "guide, calculated suffix", sort: "S", read: "2014-07-09", stamp: shard.Millis,
		store: func(i int, id string, at time.Time) (string, string) {
			return fmt.Sprintf("2014-07-09.%d", guide(id)), at.Format("2006-01-02T15:04:05.000Z") + "#" + id
		},
		table: table.Table{Format: ".", First: 1, Calculate: shard.Summed, Shards: table.Fixed(200), Layout: table.CalculatedSuffix{By: "id"}},
	},
	{
		name: "blog, path_1 to path_10", sort: "S", read: "/shared/firetvGen2.txt", stamp: shard.Nanos, random: true,
		store: func(i int, id string, at time.Time) (string, string) {
			return fmt.Sprintf("/shared/firetvGen2.txt_%d", 1+i%10), at.Format("2006-01-02T15:04:05.000000000Z") + "#" + id
		},
		table: table.Table{Format: shard.Underscore, First: 1, Shards: table.Fixed(10), Layout: table.RandomSuffix{}},
	},
	{
		name: "BASE#SHARD_0 to BASE#SHARD_9", sort: "N", read: "BASE", stamp: shard.UnixMillis,
		store: func(i int, id string, at time.Time) (string, string) {
			return fmt.Sprintf("BASE#SHARD_%d", digest(id, 10)), fmt.Sprint(at.UnixMilli())
		},
		table: table.Table{Format: shard.HashShard, Shards: table.Fixed(10), Layout: table.CalculatedSuffix{By: "id"}},
	},
	{
		name: "time bucket, entity#hour#shard", sort: "S", read: "sensor-1", stamp: shard.Micros,
		store: func(i int, id string, at time.Time) (string, string) {
			return fmt.Sprintf("sensor-1#%s#%d", at.Format("2006-01-02T15"), digest(id, 4)), at.Format("2006-01-02T15:04:05.000000Z") + "#" + id
		},
		table: table.Table{Shards: table.Fixed(4), Layout: table.TimeBuckets{Bucket: shard.Hour, Stamp: shard.Micros, By: "id"}},
	},
	{
		name: "time bucket, entity#minute#shard, random", sort: "N", read: "sensor-1", stamp: shard.UnixSeconds, random: true,
		store: func(i int, id string, at time.Time) (string, string) {
			return fmt.Sprintf("sensor-1#%s#%d", at.Format("2006-01-02T15:04"), 1+i%3), fmt.Sprint(at.Unix())
		},
		table: table.Table{First: 1, Shards: table.Fixed(3), Layout: table.TimeBuckets{Bucket: shard.Minute, Stamp: shard.UnixSeconds}},
	},
	{
		name: "hybrid time bucket, shard#day", sort: "S", read: "sensor-alpha-001", stamp: shard.Micros,
		store: func(i int, id string, at time.Time) (string, string) {
			return fmt.Sprintf("%d#%s", digest("sensor-alpha-001", 10), at.Format("2006-01-02")), "sensor-alpha-001#" + at.Format("2006-01-02T15:04:05.000000Z")
		},
		table: table.Table{Shards: table.Fixed(10), Layout: table.HybridBuckets{Bucket: shard.Day, Stamp: shard.Micros}},
	},
	{
		name: "hybrid time bucket, shard#hour, counted from 1", sort: "S", read: "sensor-alpha-001", stamp: shard.Millis,
		store: func(i int, id string, at time.Time) (string, string) {
			return fmt.Sprintf("%d#%s", guide("sensor-alpha-001"), at.Format("2006-01-02T15")), "sensor-alpha-001#" + at.Format("2006-01-02T15:04:05.000Z") + "#" + id
		},
		table: table.Table{First: 1, Calculate: shard.Summed, Shards: table.Fixed(200), Layout: table.HybridBuckets{Bucket: shard.Hour, Stamp: shard.Millis}},
	},
}

// TestArticles checks that Query reads all items that were stored by an article's formula, and that Get finds each unless
// its write shard is random.
func TestArticles(t *testing.T) {
	client := enginetest.Client(t)
	most := table.Fixed(require.Runs(10, 200)) // the most write shards for a read without bounds
	for _, a := range articles {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			sharded := a.table
			sharded.Client, sharded.Name, sharded.PartitionKey, sharded.SortKey = client, libtest.Theirs(t, client, a.sort), "customer", "placed"
			begin := time.Date(2026, 11, 22, 8, 59, 7, 543_931_000, time.UTC)
			stored := map[string]table.Item{}
			for i := range require.Runs(20, 60) {
				id := fmt.Sprintf("order-%d", 1000+i*i)
				pk, sk := a.store(i, id, begin.Add(time.Duration(i)*(a.stamp.Unit()+2*time.Second)))
				it := table.Item{"customer": libtest.Str(pk), "placed": sortOf(a.sort, sk), "id": libtest.Str(id)}
				if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &sharded.Name, Item: it}); err != nil {
					t.Fatal(err)
				}
				stored[id] = it
			}
			checkArticle(t, a, &sharded, table.During(a.stamp, begin.Truncate(a.stamp.Unit()), begin.Add(time.Hour)), stored)
			if layout := fmt.Sprintf("%T", sharded.Layout); sharded.Shards.(table.Fixed) <= most && (layout == "table.RandomSuffix" || layout == "table.CalculatedSuffix") {
				checkArticle(t, a, &sharded, table.Span{}, stored)
			}
		})
	}
}

// checkArticle reads a range that contains all stored items.
func checkArticle(t *testing.T, a article, sharded *table.Table, s table.Span, stored map[string]table.Item) {
	t.Helper()
	missing := maps.Clone(stored)
	for it, err := range sharded.Query(t.Context(), a.read, s, libtest.Epoch) {
		require.NoError(t, err)
		if delete(missing, libtest.Text(it["id"])); libtest.Text(it["customer"]) != a.read {
			t.Fatalf("%v has another name than %q", it, a.read)
		}
		if a.random {
			continue
		}
		got, err := sharded.Get(t.Context(), table.Item{"customer": it["customer"], "placed": it["placed"], "id": it["id"]}, libtest.Epoch)
		if err != nil || libtest.Text(got["id"]) != libtest.Text(it["id"]) {
			t.Fatalf("Get of %v = %v, %v", it, got, err)
		}
	}
	if len(missing) > 0 {
		t.Errorf("read %d of %d items; missing %v", len(stored)-len(missing), len(stored), slices.Sorted(maps.Keys(missing)))
	}
}

func sortOf(kind types.ScalarAttributeType, text string) types.AttributeValue {
	if kind == types.ScalarAttributeTypeN {
		return &types.AttributeValueMemberN{Value: text}
	}
	return libtest.Str(text)
}

// TestArticlesCounter checks that a Tally reads and increments a counter that was stored as likes_1 to likes_10.
func TestArticlesCounter(t *testing.T) {
	client := enginetest.Client(t)
	likes := table.Tally{
		Client: client, Table: libtest.Theirs(t, client, "S"), PartitionKey: "customer", SortKey: "placed", Sort: libtest.Str("likes"), Value: "n",
		Format: shard.Underscore, First: 1, Shards: table.Fixed(10),
	}
	for i := range 10 {
		it := table.Item{"customer": libtest.Str(fmt.Sprintf("likes_%d", i+1)), "placed": libtest.Str("likes"), "n": libtest.Num(int64(1 + i))}
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &likes.Table, Item: it}); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		require.NoError(t, likes.Add(t.Context(), "likes", 9, libtest.Epoch))
	}
	if sum, err := likes.Sum(t.Context(), []string{"likes"}, libtest.Epoch); err != nil || sum.Int64() != 100 {
		t.Errorf("Sum = %v, %v; want 100", sum, err)
	}
	likes.First = -1
	if err := likes.Add(t.Context(), "likes", 1, libtest.Epoch); err == nil {
		t.Error("Add accepts -1 as the first write shard")
	}
}

// TestCalculationBeyondCountPanics checks that Put panics if Calculate returns a write shard that does not exist.
func TestCalculationBeyondCountPanics(t *testing.T) {
	sharded := table.Table{
		Client: empty{}, Name: "t", PartitionKey: "pk", SortKey: "sk", Calculate: func(_ string, n int) int { return n },
		Shards: table.Fixed(10), Layout: table.CalculatedSuffix{},
	}
	defer func() {
		if recover() == nil {
			t.Error("Put accepts write shard 10 of 0 to 9")
		}
	}()
	_ = sharded.Put(t.Context(), table.Item{"pk": libtest.Str("a"), "sk": libtest.Str("b")}, libtest.Epoch)
}
