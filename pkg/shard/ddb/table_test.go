package ddb_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/lane"
	"github.com/hotshard/hotshard/internal/local/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

func orders(t *testing.T, client ddb.TableClient, db *dynamodb.Client, layout ddb.Layout, n ddb.Fixed) *ddb.Table {
	t.Helper()
	return &ddb.Table{
		Client: client, Name: theirs(t, db, "S"), PartitionKey: "customer", SortKey: "placed", Shards: n, Layout: layout,
	}
}

// TestTablesAreRefused: what is not set up is said, before anything is asked of AWS.
func TestTablesAreRefused(t *testing.T) {
	whole := ddb.Table{
		Client: &shaky{}, Name: "orders", PartitionKey: "customer", SortKey: "placed", Shards: ddb.Fixed(3), Layout: ddb.RandomSuffix{},
	}
	for name, spoil := range map[string]func(t *ddb.Table){
		"zero":          func(t *ddb.Table) { *t = ddb.Table{} },
		"no client":     func(t *ddb.Table) { t.Client = nil },
		"no sort key":   func(t *ddb.Table) { t.SortKey = "" },
		"one key":       func(t *ddb.Table) { t.SortKey = "customer" },
		"no shards":     func(t *ddb.Table) { t.Shards = nil },
		"no layout":     func(t *ddb.Table) { t.Layout = nil },
		"count 0":       func(t *ddb.Table) { t.Shards = ddb.Fixed(0) },
		"count 1001":    func(t *ddb.Table) { t.Shards = ddb.Fixed(shard.MaxShards + 1) },
		"no bucket":     func(t *ddb.Table) { t.Layout = ddb.TimeBuckets{} },
		"odd stamp":     func(t *ddb.Table) { t.Layout = ddb.TimeBuckets{Bucket: shard.Day, Stamp: "15:04"} },
		"number stamp":  func(t *ddb.Table) { t.Layout = ddb.HybridBuckets{Bucket: shard.Day, Stamp: shard.UnixMillis} },
		"wrong stamp":   func(t *ddb.Table) { t.Layout = ddb.TimeBuckets{Bucket: shard.Day, Stamp: shard.UnixMillis} },
		"no attribute":  func(t *ddb.Table) { t.Layout = ddb.CalculatedSuffix{By: "nowhere"} },
		"by the name":   func(t *ddb.Table) { t.Layout = ddb.CalculatedSuffix{By: "customer"} },
		"by it, later":  func(t *ddb.Table) { t.Layout = ddb.TimeBuckets{Bucket: shard.Day, By: "customer"} },
		"only digits":   func(t *ddb.Table) { t.Format = "1" },
		"a cut time":    func(t *ddb.Table) { t.Layout = ddb.TimeBuckets{Bucket: shard.Day, Stamp: shard.Nanos} },
		"changing N":    func(t *ddb.Table) { t.Shards, t.Layout = &steps{}, ddb.CalculatedSuffix{} },
		"no group":      func(t *ddb.Table) { t.Shards, t.Layout = &steps{}, ddb.HybridBuckets{Bucket: shard.Day} },
		"unsharded, 3":  func(t *ddb.Table) { t.Layout = ddb.Unsharded{} },
		"hybrid's name": func(t *ddb.Table) { t.Layout = ddb.HybridBuckets{Bucket: shard.Day} },
	} {
		table := whole
		spoil(&table)
		err := table.Put(t.Context(), ddb.Item{"customer": str("a#b"), "placed": str("2026-01-05T12:00:00.000Z")})
		if !errors.Is(err, ddb.ErrMisused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, it := range map[string]ddb.Item{
		"nothing": {}, "no name": {"placed": str("x")}, "no sort key": {"customer": str("x")}, "a number": {"customer": num(1), "placed": str("x")},
	} {
		if err := whole.Put(t.Context(), it); !errors.Is(err, ddb.ErrMisused) {
			t.Errorf("an item with %s: %v", name, err)
		}
	}
	if _, err := whole.Get(t.Context(), ddb.Item{"customer": str("x"), "placed": str("y")}); !errors.Is(err, ddb.ErrMisused) {
		t.Errorf("a point read of random suffixes: %v", err)
	}
	for _, after := range []string{"x", "1:S", "x:S:a", "1:Q:a", "1:N:1e999999"} {
		if _, err := whole.Page(t.Context(), "x", ddb.Span{After: after}); !errors.Is(err, ddb.ErrMisused) {
			t.Errorf("after %q: %v", after, err)
		}
	}
}

// TestPagesOverManyBuckets: a page reads a bounded number of partitions, and goes on
// at a bucket's edge, both ways.
func TestPagesOverManyBuckets(t *testing.T) {
	t.Parallel()
	db := enginetest.Client(t)
	counted := &queries{Client: db}
	const apart, around = 450, 100 // minutes between the items, and before the first
	for _, offset := range []bool{false, true} {
		table := orders(t, counted, db, ddb.TimeBuckets{Bucket: shard.Minute, Stamp: shard.Seconds, Offset: offset}, 1)
		var want []string
		for i := range 3 {
			sort := shard.Seconds.Key(epoch.Add(time.Duration(i)*apart*time.Minute), "#", "x")
			want = append(want, sort)
			if err := table.Put(t.Context(), ddb.Item{"customer": str("a"), "placed": str(sort)}); err != nil {
				t.Fatal(err)
			}
		}
		for _, desc := range []bool{false, true} {
			if desc != offset && !lane.Long {
				continue // each way, and each kind of bucket, is tried once
			}
			s := ddb.During(shard.Seconds, epoch.Add(-around*time.Minute), epoch.Add((2*apart+around)*time.Minute))
			s.Desc = desc
			var got []string
			pages := 0
			for more := true; more; more = s.After != "" {
				pages++
				counted.made.Store(0)
				page, err := table.Page(t.Context(), "a", s)
				if err != nil || counted.made.Load() > ddb.MaxQueries {
					t.Fatalf("%d queries, %v", counted.made.Load(), err)
				}
				for _, it := range page.Items {
					got = append(got, text(it["placed"]))
				}
				s.After = page.Next
			}
			if desc {
				slices.Reverse(got)
			}
			if !slices.Equal(got, want) || pages == 1 {
				t.Fatalf("offset %t, desc %t: got %v on %d pages", offset, desc, got, pages)
			}
		}
	}
}

// TestLargeStreams: more than a page of each write shard, and breaking off.
func TestLargeStreams(t *testing.T) {
	t.Parallel()
	db := enginetest.Client(t)
	table := orders(t, db, db, ddb.CalculatedSuffix{}, 3)
	filler := str(strings.Repeat("x", 100_000))
	for i := range 90 { // 3 MB a write shard, three pages each
		if err := table.Put(t.Context(), ddb.Item{"customer": str("a"), "placed": str(fmt.Sprintf("%03d", i)), "filler": filler}); err != nil {
			t.Fatal(err)
		}
	}
	for _, desc := range []bool{false, true} {
		n := 0
		for it, err := range table.Query(t.Context(), "a", ddb.Span{Desc: desc}) {
			want := n
			if desc {
				want = 89 - n
			}
			if err != nil || text(it["placed"]) != fmt.Sprintf("%03d", want) {
				t.Fatalf("place %d: %v, %v", n, it["placed"], err)
			}
			n++
		}
		if n != 90 {
			t.Fatalf("%d items", n)
		}
	}
	for range table.Query(t.Context(), "a", ddb.Span{}) {
		break // leaves nothing running: TestMain looks
	}
}

// TestCanceledStreams: a stream ends with its context, in the middle and at once.
func TestCanceledStreams(t *testing.T) {
	db := enginetest.Client(t)
	table := orders(t, db, db, ddb.RandomSuffix{}, 10)
	for i := range 20 {
		if err := table.Put(t.Context(), ddb.Item{"customer": str("a"), "placed": str(fmt.Sprint(i))}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := 0
	var last error
	for _, err := range table.Query(ctx, "a", ddb.Span{}) {
		if seen, last = seen+1, err; seen == 5 {
			cancel()
		}
	}
	if seen != 6 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d items, %v", seen, last)
	}
	late, cancelLate := context.WithTimeout(t.Context(), 0)
	defer cancelLate()
	for _, err := range table.Query(late, "a", ddb.Span{}) {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	}
}

// TestFailedConditionsGiveItems: in the form that callers know, and only where they asked.
func TestFailedConditionsGiveItems(t *testing.T) {
	db := enginetest.Client(t)
	for _, layout := range []ddb.Layout{ddb.HybridBuckets{Bucket: shard.Day}, ddb.CalculatedSuffix{By: "id"}} {
		table := orders(t, db, db, layout, 10)
		if err := table.Put(t.Context(), order(1)); err != nil {
			t.Fatal(err)
		}
		for give, want := range map[types.ReturnValuesOnConditionCheckFailure]string{"": "", "NONE": "", "ALL_OLD": "acme " + text(order(1)["placed"])} {
			in := &dynamodb.UpdateItemInput{
				UpdateExpression: aws.String("SET n = :one"), ConditionExpression: aws.String("attribute_exists(nothing)"),
				ExpressionAttributeValues: ddb.Item{":one": num(1)}, ReturnValuesOnConditionCheckFailure: give,
			}
			_, err := table.Update(t.Context(), order(1), in)
			failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
			if !ok || strings.TrimSpace(text(failed.Item["customer"])+" "+text(failed.Item["placed"])) != want {
				t.Errorf("%T, %q: %v, %v", layout, give, failed, err)
			}
			m := ddb.Migration{Client: db, From: table, To: orders(t, db, db, ddb.CalculatedSuffix{}, 3), Phase: ddb.WriteBoth}
			if err := m.Update(t.Context(), order(1), in); errors.Is(err, ddb.ErrMisused) != (give != "") {
				t.Errorf("%T, %q: %v", layout, give, err)
			}
		}
	}
}

// TestUpdateAndDelete: of single items, found by an attribute.
func TestUpdateAndDelete(t *testing.T) {
	db := enginetest.Client(t)
	table := orders(t, db, db, ddb.TimeBuckets{Bucket: shard.Hour, By: "id"}, 7)
	key := ddb.Item{"customer": str("a"), "placed": str("2026-01-05T12:00:00.000Z"), "id": str("x")}
	out, err := table.Update(t.Context(), key, &dynamodb.UpdateItemInput{
		UpdateExpression: aws.String("ADD n :one"), ExpressionAttributeValues: ddb.Item{":one": num(1)}, ReturnValues: types.ReturnValueAllNew,
	})
	if err != nil || text(out.Attributes["n"]) != "1" || text(out.Attributes["customer"]) != "a" {
		t.Fatalf("%v, %v", out, err)
	}
	if _, err := table.Update(t.Context(), key, &dynamodb.UpdateItemInput{TableName: aws.String("x")}); !errors.Is(err, ddb.ErrMisused) {
		t.Error(err)
	}
	if err := table.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Get(t.Context(), key); !errors.Is(err, ddb.ErrNotFound) {
		t.Fatal(err)
	}
}

func TestTallies(t *testing.T) {
	db := enginetest.Client(t)
	tally := ddb.Tally{
		Client: db, Table: theirs(t, db, "S"), PartitionKey: "customer", SortKey: "placed", Sort: str("total"),
		Value: "views", Format: shard.HashShard, Shards: ddb.Fixed(8),
	}
	for i := range 50 {
		if err := tally.Add(t.Context(), "home", int64(i-10)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tally.Add(t.Context(), "away", 7); err != nil {
		t.Fatal(err)
	}
	for _, consistent := range []bool{true, false} {
		sum, err := tally.Sum(t.Context(), consistent, "home", "away", "home", "never")
		if err != nil || sum.Int64() != 732 {
			t.Fatalf("%v, %v", sum, err)
		}
	}
	for name, bad := range map[string]ddb.Tally{"zero": {}, "half a sort key": {
		Client: db, Table: "t", PartitionKey: "p", Value: "v", Shards: ddb.Fixed(1), SortKey: "s",
	}, "only digits": {Client: db, Table: "t", PartitionKey: "p", Value: "v", Shards: ddb.Fixed(1), Format: "1"}} {
		if err := bad.Add(t.Context(), "x", 1); !errors.Is(err, ddb.ErrMisused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	tally.Shards = ddb.Fixed(0)
	if _, err := tally.Sum(t.Context(), true, "home"); !errors.Is(err, ddb.ErrMisused) {
		t.Error(err)
	}
}

// TestManyProgramsShareOneMap: tables of programs with views of their own follow a
// change, and read all that any of them wrote.
func TestManyProgramsShareOneMap(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	clock := epoch
	name := theirs(t, d.client, "S")
	var programs []*ddb.Table
	var maps []*ddb.Map
	for range 3 {
		m := ddb.NewMap(d.client, d.names.ShardMap)
		maps = append(maps, m)
		programs = append(programs, &ddb.Table{
			Client: d.client, Name: name, PartitionKey: "customer", SortKey: "placed",
			Shards: ddb.Namespace{Prefix: "orders/", Counts: m}, Layout: ddb.RandomSuffix{}, Now: func() time.Time { return clock },
		})
	}
	changer := patient(ddb.NewMapChanger(d.client, maps[0], ddb.ChangerOptions{}))
	written := 0
	for round, count := range []int{5, 2, 40} {
		if _, err := changer.Pin(t.Context(), "orders/acme", count, ddb.Note{By: "test"}, clock); err != nil {
			t.Fatal(err)
		}
		steps := lane.Runs(6, 30)
		for range steps {
			clock = clock.Add(30 * time.Second / time.Duration(steps))
			for _, p := range programs {
				sort := fmt.Sprintf("%d-%05d", round, written)
				if err := p.Put(t.Context(), ddb.Item{"customer": str("acme"), "placed": str(sort)}); err != nil {
					t.Fatal(err)
				}
				written++
			}
			for i, p := range programs {
				if n, err := p.Count(t.Context(), "acme", ddb.Span{}); err != nil || n != written {
					t.Fatalf("program %d counts %d, %v, want %d", i, n, err, written)
				}
			}
		}
	}
}
