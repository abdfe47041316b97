package table_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// plainLayouts are the layouts that PlainFirst allows.
var plainLayouts = map[string]table.Layout{
	"random": table.RandomSuffix{}, "calculated": table.CalculatedSuffix{Time: table.SortTime("placed", "")},
	"by id": table.CalculatedSuffix{By: "id", Time: table.SortTime("placed", "")}, "fixed": table.CalculatedSuffix{By: "id"},
	"buckets": table.TimeBuckets{Bucket: shard.Day}, "buckets by id": table.TimeBuckets{Bucket: shard.Day, By: "id"},
}

// day is the span of the day of libtest.Epoch.
var day = table.During(shard.Millis, libtest.Epoch.Truncate(24*time.Hour), libtest.Epoch.Truncate(24*time.Hour).AddDate(0, 0, 1))

// plainKey returns the key under which acme's items of that day are stored without write shards.
func plainKey(layout string) string {
	if strings.HasPrefix(layout, "buckets") {
		return "acme#2026-01-05"
	}
	return "acme"
}

// plain returns a table whose write shard 0 is the plain name.
func plain(client table.Client, name string, layout table.Layout, counts table.Counts) *table.Table {
	return &table.Table{
		Client: client, Name: name, PartitionKey: "customer", SortKey: "placed", Shards: counts, Layout: layout,
		Format: shard.HashShard, PlainFirst: true,
	}
}

// asked records the partition keys of all calls.
type asked struct {
	table.Client
	mu   sync.Mutex
	keys []string
}

func (a *asked) add(call, key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keys = append(a.keys, call+" "+key)
}

func (a *asked) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	a.add("put", libtest.Text(in.Item["customer"]))
	return a.Client.PutItem(ctx, in, o...)
}

func (a *asked) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	a.add("get", libtest.Text(in.Key["customer"]))
	return a.Client.GetItem(ctx, in, o...)
}

func (a *asked) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	a.add("query", libtest.Text(in.ExpressionAttributeValues[":pk"]))
	return a.Client.Query(ctx, in, o...)
}

// TestColdNameCostsOneRequest checks that a name with one write shard is written by one PutItem and read by one Query of
// the plain key.
func TestColdNameCostsOneRequest(t *testing.T) {
	t.Parallel()
	d := libtest.Deploy(t)
	for what, layout := range plainLayouts {
		client := &asked{Client: d.Client}
		var counts table.Counts = shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})
		if what == "fixed" {
			counts = table.Fixed(1)
		}
		orders := plain(client, libtest.Theirs(t, d.Client, "S"), layout, counts)
		key := plainKey(what)
		old := table.Item{"customer": libtest.Str(key), "placed": libtest.Str("2026-01-05T10:00:00.000Z#order-0"), "id": libtest.Str("order-0")}
		if _, err := d.Client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &orders.Name, Item: old}); err != nil {
			t.Fatal(err)
		}
		err := orders.Put(t.Context(), table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str("2026-01-05T20:00:00.000Z#order-1"), "id": libtest.Str("order-1")}, libtest.Epoch)
		if got := idsOf(t, orders, day); err != nil || !slices.Equal(got, []string{"order-0", "order-1"}) {
			t.Errorf("%s: read %v, %v; want both orders", what, got, err)
		}
		if want := []string{"put " + key, "query " + key}; !slices.Equal(client.keys, want) {
			t.Errorf("%s: requests %q, want %q", what, client.keys, want)
		}
	}
}

// TestPlainFirstRejectsAmbiguousKeys checks that PlainFirst rejects settings and names whose keys could be another's.
func TestPlainFirstRejectsAmbiguousKeys(t *testing.T) {
	for what, spoil := range map[string]func(*table.Table){
		"no format":     func(s *table.Table) { s.Format = "" },
		"first 1":       func(s *table.Table) { s.First = 1 },
		"no bucket":     func(s *table.Table) { s.Layout = table.TimeBuckets{} },
		"hybrid":        func(s *table.Table) { s.Layout = table.HybridBuckets{Bucket: shard.Day} },
		"label 22":      func(s *table.Table) { s.Format, s.Layout = "-", table.TimeBuckets{Bucket: shard.Day} },
		"label with 15": func(s *table.Table) { s.Format, s.Layout = "#2026-01-", table.TimeBuckets{Bucket: shard.Day} },
	} {
		s := plain(&shaky{}, "orders", table.RandomSuffix{}, table.Fixed(3))
		require.NoError(t, s.Check())
		spoil(s)
		_, err := s.Page(t.Context(), "acme", day, libtest.Epoch)
		if checked := s.Check(); !errors.Is(checked, shard.ErrMisused) || !errors.Is(err, shard.ErrMisused) {
			t.Errorf("%s: Check = %v, Page = %v; want ErrMisused", what, checked, err)
		}
	}
	for what, layout := range plainLayouts {
		s := plain(empty{}, "orders", layout, table.Fixed(3))
		longest := 2048 - len("#SHARD_999")
		if strings.HasPrefix(what, "buckets") {
			longest -= len("#2026-01-05")
		}
		for name, good := range map[string]bool{
			"acme": true, "acme#SHARD_0": true, "acme#SHARD_01": true, "#SHARD_1x": true, strings.Repeat("x", longest): true,
			"": false, "acme#SHARD_1": false, "acme#SHARD_999999": false, "#SHARD_2": false, strings.Repeat("x", longest+1): false,
		} {
			item := table.Item{"customer": libtest.Str(name), "placed": libtest.Str("2026-01-05T10:00:00.000Z#order-0"), "id": libtest.Str("order-0")}
			_, getErr := s.Get(t.Context(), item, libtest.Epoch)
			_, updateErr := s.Update(t.Context(), item, &dynamodb.UpdateItemInput{UpdateExpression: aws.String("REMOVE x")}, libtest.Epoch)
			_, pageErr := s.Page(t.Context(), name, day, libtest.Epoch)
			var queryErr error
			for _, err := range s.Query(t.Context(), name, day, libtest.Epoch) {
				queryErr = err
			}
			for call, err := range map[string]error{
				"put": s.Put(t.Context(), item, libtest.Epoch), "delete": s.Delete(t.Context(), item, libtest.Epoch),
				"get": getErr, "update": updateErr, "page": pageErr, "query": queryErr,
			} {
				if rejected := errors.Is(err, shard.ErrMisused) && strings.Contains(err.Error(), " name"); rejected == good {
					t.Errorf("%s, %s of %.20q: error %v, want the name rejected: %t", what, call, name, err, !good)
				}
			}
		}
	}
}

// TestDuplicatesAreReadOnce checks that an item under the plain key and on its write shard is read once, if Get finds single
// items; all reads return the copy on its write shard. With random write shards both are read.
func TestDuplicatesAreReadOnce(t *testing.T) {
	db := enginetest.Client(t)
	for what, layout := range plainLayouts {
		orders := plain(db, libtest.Theirs(t, db, "S"), layout, table.Fixed(4))
		const items = 12
		for i := range items {
			item := table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str(fmt.Sprintf("2026-01-05T10:00:%02d.000Z", i)), "id": libtest.Str(fmt.Sprint(i))}
			require.NoError(t, orders.Put(t.Context(), item, libtest.Epoch))
			item["customer"], item["copy"] = libtest.Str(plainKey(what)), libtest.Str("plain")
			if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &orders.Name, Item: item}); err != nil {
				t.Fatal(err)
			}
		}
		atRandom := what == "random" || what == "buckets"
		if read := len(idsOf(t, orders, day)); atRandom == (read == items) {
			t.Errorf("%s: read %d of %d items", what, read, items)
		}
		for _, desc := range []bool{false, true} {
			span := day
			for span.Desc = desc; !atRandom; {
				span.Limit = 5
				page, err := orders.Page(t.Context(), "acme", span, libtest.Epoch)
				require.NoError(t, err)
				for _, it := range page.Items {
					if want, err := orders.Get(t.Context(), it, libtest.Epoch); err != nil || libtest.Text(it["copy"]) != libtest.Text(want["copy"]) {
						t.Errorf("%s, descending %t: %v, want the copy %v that Get returns, %v", what, desc, it, want, err)
					}
				}
				if span.After = page.Next; span.After == "" {
					break
				}
			}
		}
	}
}

// TestCheckUnusedNamesOccupiedKey checks that CheckUnused returns an occupied key of the new write shards, and ignores other keys.
func TestCheckUnusedNamesOccupiedKey(t *testing.T) {
	db := enginetest.Client(t)
	for what, layout := range plainLayouts {
		listener := &libtest.Listener{}
		orders := plain(db, libtest.Theirs(t, db, "S"), layout, table.Fixed(1))
		orders.Observer = listener
		item := table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str(shard.Millis.Key(libtest.Epoch, "#", "x")), "id": libtest.Str("x")}
		require.NoError(t, orders.Put(t.Context(), item, libtest.Epoch))
		clear := listener.Attempts[0].CheckUnused
		occupied := plainKey(what) + "#SHARD_3"
		item["customer"] = libtest.Str(occupied)
		if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &orders.Name, Item: item}); err != nil {
			t.Fatal(err)
		}
		for _, free := range [][2]int{{1, 3}, {4, 30}} {
			if err := clear(t.Context(), free[0], free[1]); err != nil {
				t.Errorf("%s: CheckUnused of free write shards %v: %v", what, free, err)
			}
		}
		taken, is := errors.AsType[*shard.KeyError](clear(t.Context(), 1, 30))
		if !is || taken.Key != occupied {
			t.Errorf("%s: CheckUnused returns %v, want %s", what, taken, occupied)
		}
	}
}

// TestCheckUnusedKnowsAtLeast checks that CheckUnused expects items on the write shards that a name has by AtLeast, though the shard
// map's own entry has fewer: else no key of such a table could grow.
func TestCheckUnusedKnowsAtLeast(t *testing.T) {
	client, listener := &asked{Client: empty{}}, &libtest.Listener{}
	orders := plain(client, "orders", table.RandomSuffix{}, table.AtLeast{N: 4, Counts: table.Fixed(1)})
	orders.Observer = listener
	require.NoError(t, orders.Put(t.Context(), table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str("1")}, libtest.Epoch))
	client.keys = nil
	require.NoError(t, listener.Attempts[0].CheckUnused(t.Context(), 1, 6))
	if got := sorted(client.keys); !slices.Equal(got, []string{"acme#SHARD_4", "acme#SHARD_5"}) {
		t.Errorf("CheckUnused reads %q, want write shards 4 and 5", got)
	}
}

// unreadable is a shard map that can't be read.
type unreadable struct{}

func (unreadable) Lookup(context.Context, string, time.Time) (shardmap.Entry, error) {
	return shardmap.Entry{}, shard.ErrStale
}

// TestUnreadableMap checks that puts with a RandomSuffix go to the plain key while the map can't be read. Reads and the
// other layouts fail.
func TestUnreadableMap(t *testing.T) {
	db := &asked{Client: empty{}}
	orders := plain(db, "orders", table.RandomSuffix{}, unreadable{})
	it := table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str(shard.Millis.Key(libtest.Epoch, "#", "1"))}
	if err := orders.Put(t.Context(), it, libtest.Epoch); err != nil || !slices.Equal(db.keys, []string{"put acme"}) {
		t.Errorf("calls %q, %v; want one to the plain key", db.keys, err)
	}
	if _, err := orders.Page(t.Context(), "acme", table.Span{}, libtest.Epoch); !errors.Is(err, shard.ErrStale) {
		t.Errorf("Page: error %v, want ErrStale", err)
	}
	orders.Layout = table.CalculatedSuffix{Time: table.SortTime("placed", shard.Millis)}
	if err := orders.Put(t.Context(), it, libtest.Epoch); !errors.Is(err, shard.ErrStale) {
		t.Errorf("a put with a CalculatedSuffix: error %v, want ErrStale", err)
	}
	orders.Layout, orders.PlainFirst = table.RandomSuffix{}, false
	if err := orders.Put(t.Context(), it, libtest.Epoch); !errors.Is(err, shard.ErrStale) {
		t.Errorf("a put without PlainFirst: error %v, want ErrStale", err)
	}
}

// TestPagesWithoutItems checks that a page of MaxQueries empty time buckets continues in the next bucket, in both
// directions and for its name only.
func TestPagesWithoutItems(t *testing.T) {
	for _, desc := range []bool{false, true} {
		db := &asked{Client: empty{}}
		logs := &table.Table{Client: db, Name: "logs", PartitionKey: "customer", SortKey: "placed", Shards: table.Fixed(1), Layout: table.TimeBuckets{Bucket: shard.Minute, Stamp: shard.Seconds}}
		span := table.During(shard.Seconds, libtest.Epoch, libtest.Epoch.Add((table.MaxQueries+10)*time.Minute))
		span.Desc = desc
		page, err := logs.Page(t.Context(), "acme", span, libtest.Epoch)
		if span.After = page.Next; err != nil || page.Next == "" || len(db.keys) > table.MaxQueries {
			t.Errorf("descending %t: %+v, %v after %d queries", desc, page, err, len(db.keys))
		}
		if page, err := logs.Page(t.Context(), "acme", span, libtest.Epoch); err != nil || page.Next != "" || len(sorted(db.keys)) != table.MaxQueries+10 {
			t.Errorf("descending %t: the next page: %+v, %v after queries of %d buckets", desc, page, err, len(sorted(db.keys)))
		}
		if _, err := logs.Page(t.Context(), "other", span, libtest.Epoch); !errors.Is(err, shard.ErrMisused) {
			t.Errorf("another name's page: %v", err)
		}
	}
}
