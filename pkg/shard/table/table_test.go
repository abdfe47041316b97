package table_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// TestInvalidTablesAreRejected checks that calls reject invalid settings, items and spans before they send a request.
func TestInvalidTablesAreRejected(t *testing.T) {
	whole := table.Table{
		Client: &shaky{}, Name: "orders", PartitionKey: "customer", SortKey: "placed", Shards: table.Fixed(3), Layout: table.RandomSuffix{},
	}
	for name, spoil := range map[string]func(t *table.Table){
		"zero":           func(t *table.Table) { *t = table.Table{} },
		"no client":      func(t *table.Table) { t.Client = nil },
		"no sort key":    func(t *table.Table) { t.SortKey = "" },
		"an index's ARN": func(t *table.Table) { t.Name = "arn:aws:dynamodb:eu-west-1:123456789012:table/t/index/i" },
		"one key":        func(t *table.Table) { t.SortKey = "customer" },
		"no shards":      func(t *table.Table) { t.Shards = nil },
		"no layout":      func(t *table.Table) { t.Layout = nil },
		"count 0":        func(t *table.Table) { t.Shards = table.Fixed(0) },
		"count -3":       func(t *table.Table) { t.Shards = table.Fixed(-3) },
		"no minimum":     func(t *table.Table) { t.Shards = table.AtLeast{} },
		"no map":         func(t *table.Table) { t.Shards = (*shardmap.Map)(nil) },
		"no nested map": func(t *table.Table) {
			t.Shards = table.AtLeast{N: 2, Counts: (*shardmap.Changer)(nil)}
		},
		"first -1":                    func(t *table.Table) { t.First = -1 },
		"count 1001":                  func(t *table.Table) { t.Shards = table.Fixed(shard.MaxShards + 1) },
		"no bucket":                   func(t *table.Table) { t.Layout = table.TimeBuckets{} },
		"odd stamp":                   func(t *table.Table) { t.Layout = table.TimeBuckets{Bucket: shard.Day, Stamp: "15:04"} },
		"number stamp":                func(t *table.Table) { t.Layout = table.HybridBuckets{Bucket: shard.Day, Stamp: shard.UnixMillis} },
		"wrong stamp":                 func(t *table.Table) { t.Layout = table.TimeBuckets{Bucket: shard.Day, Stamp: shard.UnixMillis} },
		"no attribute":                func(t *table.Table) { t.Layout = table.CalculatedSuffix{By: "nowhere"} },
		"by the partition key":        func(t *table.Table) { t.Layout = table.CalculatedSuffix{By: "customer"} },
		"bucket by the partition key": func(t *table.Table) { t.Layout = table.TimeBuckets{Bucket: shard.Day, By: "customer"} },
		"format of digits":            func(t *table.Table) { t.Format = "1" },
		"truncated time":              func(t *table.Table) { t.Layout = table.TimeBuckets{Bucket: shard.Day, Stamp: shard.Nanos} },
		"changing N":                  func(t *table.Table) { t.Shards, t.Layout = &libtest.Steps{}, table.CalculatedSuffix{} },
		"no group":                    func(t *table.Table) { t.Shards, t.Layout = &libtest.Steps{}, table.HybridBuckets{Bucket: shard.Day} },
		"hybrid's name":               func(t *table.Table) { t.Layout = table.HybridBuckets{Bucket: shard.Day} },
	} {
		sharded := whole
		spoil(&sharded)
		err := sharded.Put(t.Context(), table.Item{"customer": libtest.Str("a#b"), "placed": libtest.Str("2026-01-05T12:00:00.000Z")}, libtest.Epoch)
		if !errors.Is(err, shard.ErrMisused) {
			t.Errorf("%s: error %v, want ErrMisused", name, err)
		}
		if strings.HasPrefix(name, "no ") && strings.Contains("no namespace, no minimum, no map, no nested map, no group", name) || strings.HasPrefix(name, "count ") {
			if err := sharded.Check(); !errors.Is(err, shard.ErrMisused) {
				t.Errorf("Check of %s: error %v, want ErrMisused", name, err)
			}
		}
	}
	for name, it := range map[string]table.Item{
		"no attributes": {}, "no partition key": {"placed": libtest.Str("x")}, "no sort key": {"customer": libtest.Str("x")}, "a number as partition key": {"customer": libtest.Num(1), "placed": libtest.Str("x")},
	} {
		if err := whole.Put(t.Context(), it, libtest.Epoch); !errors.Is(err, shard.ErrMisused) {
			t.Errorf("an item with %s: error %v, want ErrMisused", name, err)
		}
	}
	for what, layout := range map[string]table.Layout{
		"a text instead of a number": table.TimeBuckets{Bucket: shard.Day, Stamp: shard.UnixMillis},
		"an item without a time":     table.CalculatedSuffix{Time: table.AttributeTime("made")},
		"an item without By":         table.CalculatedSuffix{By: "id", Time: table.SortTime("placed", "")},
	} {
		sharded := whole
		sharded.Layout = layout
		if err := sharded.Put(t.Context(), table.Item{"customer": libtest.Str("x"), "placed": libtest.Str("1767614445000")}, libtest.Epoch); !errors.Is(err, shard.ErrMisused) {
			t.Errorf("%s: error %v, want ErrMisused", what, err)
		}
	}
	if _, err := whole.Get(t.Context(), table.Item{"customer": libtest.Str("x"), "placed": libtest.Str("y")}, libtest.Epoch); !errors.Is(err, shard.ErrMisused) {
		t.Errorf("Get with a RandomSuffix: error %v, want ErrMisused", err)
	}
	for _, after := range []string{"x", "1:S", "x:S:a", "1:Q:a", "1:N:1e999999"} {
		if _, err := whole.Page(t.Context(), "x", table.Span{After: after}, libtest.Epoch); !errors.Is(err, shard.ErrMisused) {
			t.Errorf("Page after %q: error %v, want ErrMisused", after, err)
		}
	}
}

// TestFailedConditionReturnsItem checks that a failed condition returns the item with the caller's keys if the caller
// requested it.
func TestFailedConditionReturnsItem(t *testing.T) {
	db := enginetest.Client(t)
	for _, layout := range []table.Layout{table.HybridBuckets{Bucket: shard.Day}, table.CalculatedSuffix{By: "id"}} {
		sharded := newOrders(t, db, db, layout, 10)
		require.NoError(t, sharded.Put(t.Context(), libtest.Order(1), libtest.Epoch))
		for give, want := range map[types.ReturnValuesOnConditionCheckFailure]string{"": "", "NONE": "", "ALL_OLD": "acme " + libtest.Text(libtest.Order(1)["placed"])} {
			in := &dynamodb.UpdateItemInput{
				UpdateExpression: aws.String("SET n = :one"), ConditionExpression: aws.String("attribute_exists(nothing)"),
				ExpressionAttributeValues: table.Item{":one": libtest.Num(1)}, ReturnValuesOnConditionCheckFailure: give,
			}
			_, err := sharded.Update(t.Context(), libtest.Order(1), in, libtest.Epoch)
			failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
			if !ok || strings.TrimSpace(libtest.Text(failed.Item["customer"])+" "+libtest.Text(failed.Item["placed"])) != want {
				t.Errorf("%T, %q: %v, %v; want item %q", layout, give, failed, err, want)
			}
		}
	}
}

// batchReads records whether each batch was a consistent read.
type batchReads struct {
	*dynamodb.Client
	consistent []bool
}

func (c *batchReads) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	for _, keys := range in.RequestItems {
		c.consistent = append(c.consistent, aws.ToBool(keys.ConsistentRead))
	}
	return c.Client.BatchGetItem(ctx, in, o...)
}

// TestTallySums checks that Sum adds up all write shards of distinct names, and that invalid tallies are rejected.
func TestTallySums(t *testing.T) {
	db := enginetest.Client(t)
	reads := &batchReads{Client: db}
	tally := table.Tally{
		Client: reads, Table: libtest.Theirs(t, db, "S"), PartitionKey: "customer", SortKey: "placed", Sort: libtest.Str("total"),
		Value: "views", Format: shard.HashShard, Shards: table.Fixed(8),
	}
	for i := range 50 {
		require.NoError(t, tally.Add(t.Context(), "home", int64(i-10), libtest.Epoch))
	}
	require.NoError(t, tally.Add(t.Context(), "away", 7, libtest.Epoch))
	sum, err := tally.Sum(t.Context(), []string{"home", "away", "home", "never"}, libtest.Epoch)
	if err != nil || sum.Int64() != 732 || len(reads.consistent) == 0 || slices.Contains(reads.consistent, false) {
		t.Fatalf("%v, %v; want 732; consistent reads: %v", sum, err, reads.consistent)
	}
	for name, bad := range map[string]table.Tally{"zero": {}, "half a sort key": {
		Client: db, Table: "t", PartitionKey: "p", Value: "v", Shards: table.Fixed(1), SortKey: "s",
	}, "format of digits": {Client: db, Table: "t", PartitionKey: "p", Value: "v", Shards: table.Fixed(1), Format: "1"}} {
		if err := bad.Add(t.Context(), "x", 1, libtest.Epoch); !errors.Is(err, shard.ErrMisused) {
			t.Errorf("%s: error %v, want ErrMisused", name, err)
		}
	}
	mails, opens := tally, map[string]int64{}
	mails.Value = ""
	for i := range 40 {
		deltas := map[string]int64{"opens": 1, "clicks": int64(i % 3), "bounces": -2}
		if i%4 == 0 {
			delete(deltas, "clicks")
		}
		for attribute, delta := range deltas {
			opens[attribute] += delta
		}
		require.NoError(t, mails.AddAll(t.Context(), fmt.Sprint("mail-", i%2), deltas, libtest.Epoch))
	}
	sums, err := mails.Sums(t.Context(), []string{"mail-0", "mail-1", "mail-2"}, []string{"opens", "clicks", "bounces", "other"}, libtest.Epoch)
	if got := fmt.Sprint(sums); err != nil || got != fmt.Sprintf("map[bounces:%d clicks:%d opens:%d other:0]", opens["bounces"], opens["clicks"], opens["opens"]) {
		t.Errorf("Sums = %s, %v; want %v", got, err, opens)
	}
	for _, deltas := range []map[string]int64{nil, {"": 1}, {"opens": 1, "customer": 1}, {"placed": 1}} {
		_, transactErr := mails.AddAllTransact(t.Context(), "home", deltas, libtest.Epoch)
		_, sumErr := mails.Sums(t.Context(), []string{"home"}, slices.Sorted(maps.Keys(deltas)), libtest.Epoch)
		for call, err := range map[string]error{"AddAll": mails.AddAll(t.Context(), "home", deltas, libtest.Epoch), "AddAllTransact": transactErr, "Sums": sumErr} {
			if !errors.Is(err, shard.ErrMisused) {
				t.Errorf("%s of %v: error %v, want ErrMisused", call, deltas, err)
			}
		}
	}
	tally.Shards = table.Fixed(0)
	if _, err := tally.Sum(t.Context(), []string{"home"}, libtest.Epoch); !errors.Is(err, shard.ErrMisused) {
		t.Errorf("Sum of 0 write shards: error %v, want ErrMisused", err)
	}
}

// ledger is a client of a Tally that throttles the first update, and returns the same items for each read.
type ledger struct {
	updates []*dynamodb.UpdateItemInput
	items   []table.Item
}

func (l *ledger) UpdateItem(_ context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if l.updates = append(l.updates, in); len(l.updates) == 1 {
		return nil, libtest.Hot(libtest.TableHot)
	}
	return &dynamodb.UpdateItemOutput{}, nil
}

func (l *ledger) BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	return &dynamodb.BatchGetItemOutput{Responses: map[string][]table.Item{"t": l.items}}, nil
}

var errBroken = errors.New("broken")

// broken are counts that fail for good.
type broken struct{}

func (broken) Lookup(context.Context, string, time.Time) (shardmap.Entry, error) {
	return shardmap.Entry{}, errBroken
}

// pinned are counts whose entries are pinned.
type pinned struct{ libtest.Steps }

func (p pinned) Lookup(ctx context.Context, key string, now time.Time) (shardmap.Entry, error) {
	entry, err := p.Steps.Lookup(ctx, key, now)
	entry.Pinned = true
	return entry, err
}

// TestTallyRequests checks the updates and the attempts of an addition that is throttled once, and what sums add up.
func TestTallyRequests(t *testing.T) {
	steps := libtest.Steps{History: shard.History{{At: libtest.Epoch, Count: 3}}}
	for name, c := range map[string]struct {
		counts table.Counts
		pinned bool
	}{"fixed": {table.Fixed(3), true}, "in a map": {steps, false}, "pinned in a map": {pinned{steps}, true}} {
		db, listener := &ledger{}, &libtest.Listener{}
		tally := table.Tally{Client: db, Table: "t", PartitionKey: "customer", Value: "opens", Shards: c.counts, Observer: listener}
		if err := tally.AddAll(t.Context(), "home", map[string]int64{"opens": 1, "clicks": -2}, libtest.Epoch); err != nil || len(db.updates) != 2 || len(listener.Attempts) != 2 {
			t.Fatalf("%s: %v after %d updates and %d attempts", name, err, len(db.updates), len(listener.Attempts))
		}
		for i, in := range db.updates {
			a, names, values := listener.Attempts[i], in.ExpressionAttributeNames, in.ExpressionAttributeValues
			if libtest.Text(in.Key["customer"]) != shard.Hash.Join("home", a.Shard) || *in.UpdateExpression != "ADD #a0 :d0, #a1 :d1" || names["#a0"] != "clicks" || names["#a1"] != "opens" ||
				libtest.Text(values[":d0"]) != "-2" || libtest.Text(values[":d1"]) != "1" || a.Key != "home" || a.Table != "t" || a.Pinned != c.pinned || (a.Outcome == shard.Accepted) != (i == 1) {
				t.Errorf("%s: update %d of %v is %s, %v, %v; observed %+v", name, i, in.Key, *in.UpdateExpression, names, values, a)
			}
		}
		if listener.Attempts[0].Shard == listener.Attempts[1].Shard {
			t.Errorf("%s: the retry is on the throttled write shard", name)
		}
		for want, items := range map[string][]table.Item{
			"12 0": {{"opens": libtest.Num(5)}, {"opens": libtest.Num(7)}, {"clicks": libtest.Num(9)}}, "0 0": nil, "": {{"opens": libtest.Num(5)}, {"opens": libtest.Str("x")}},
		} {
			db.items = items
			sums, err := tally.Sums(t.Context(), []string{"home"}, []string{"opens", "none"}, libtest.Epoch)
			if (err == nil) != (want != "") || err == nil && fmt.Sprint(sums["opens"], " ", sums["none"]) != want {
				t.Errorf("%s: the sum of %v is %v, %v; want %s", name, items, sums, err, want)
			}
		}
		tally.Shards, tally.PlainFirst, tally.Format = broken{}, true, shard.HashShard
		if err := tally.Add(t.Context(), "home", 1, libtest.Epoch); !errors.Is(err, errBroken) {
			t.Errorf("%s with broken counts: %v", name, err)
		}
		tally.Shards, tally.PlainFirst = unreadable{}, false
		_, transactErr := tally.AddAllTransact(t.Context(), "home", map[string]int64{"opens": 1}, libtest.Epoch)
		_, sumErr := tally.Sum(t.Context(), []string{"home"}, libtest.Epoch)
		for call, err := range map[string]error{"Add": tally.Add(t.Context(), "home", 1, libtest.Epoch), "AddAllTransact": transactErr, "Sum": sumErr} {
			if !errors.Is(err, shard.ErrStale) {
				t.Errorf("%s without the map: %v", call, err)
			}
		}
	}
}
