package ddb_test

import (
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

	"github.com/hotshard/hotshard/internal/local/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// order is the key of an item whose sort key is a day's.
func order(n int) ddb.Item {
	return ddb.Item{"customer": str("acme"), "placed": str("2026-01-05T00:00:00.000Z"), "id": str(fmt.Sprint("order-", n))}
}

// putDay puts 20 orders with one sort key, and returns the ids of those that DynamoDB
// can keep: one on each write shard.
func putDay(t *testing.T, table *ddb.Table, shards int) []string {
	t.Helper()
	kept := map[int]string{}
	for n := range 20 {
		id := text(order(n)["id"])
		at := shard.Calculated(id, shards)
		it := order(n)
		it["n"] = num(int64(n))
		err := table.Put(t.Context(), it)
		if _, taken := kept[at]; taken != errors.Is(err, ddb.ErrMisused) || !taken && err != nil {
			t.Fatalf("%s on write shard %d beside %v: %v", id, at, kept, err)
		}
		if err == nil {
			kept[at] = id
		}
	}
	return slices.Sorted(maps.Values(kept))
}

func ids(t *testing.T, table *ddb.Table, s ddb.Span) []string {
	t.Helper()
	var list []string
	for it, err := range table.Query(t.Context(), "acme", s) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, text(it["id"]))
	}
	return list
}

// TestEqualSortKeys: items that an attribute tells apart are never one item, nor is one
// taken for another.
func TestEqualSortKeys(t *testing.T) {
	t.Parallel()
	db := enginetest.Client(t)
	for _, layout := range []ddb.Layout{ddb.CalculatedSuffix{By: "id"}, ddb.TimeBuckets{Bucket: shard.Day, By: "id"}} {
		table := orders(t, db, db, layout, 10)
		want := putDay(t, table, 10)
		day := ddb.During(shard.Millis, epoch.Truncate(24*time.Hour), epoch.Add(24*time.Hour))
		if got := ids(t, table, day); !slices.Equal(got, want) {
			t.Fatalf("%T: %v, want %v", layout, got, want)
		}
		checkPages(t, table, day, want)
		for n := range 20 {
			checkKey(t, table, n, slices.Contains(want, text(order(n)["id"])))
		}
		if got := ids(t, table, day); len(got) != 0 {
			t.Fatalf("%T: %v are left", layout, got)
		}
	}
}

// checkPages reads pages of three, both ways.
func checkPages(t *testing.T, table *ddb.Table, s ddb.Span, want []string) {
	t.Helper()
	for _, s.Desc = range []bool{false, true} {
		var got []string
		s.Limit, s.After = 3, ""
		for more := true; more; more = s.After != "" {
			page, err := table.Page(t.Context(), "acme", s)
			if err != nil {
				t.Fatal(err)
			}
			for _, it := range page.Items {
				got = append(got, text(it["id"]))
			}
			s.After = page.Next
		}
		if s.Desc {
			slices.Reverse(got)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("pages, desc %t: %v, want %v", s.Desc, got, want)
		}
	}
}

// checkKey reads, updates and deletes by the key of an order that is there, or of one
// in whose place another one is.
func checkKey(t *testing.T, table *ddb.Table, n int, there bool) {
	t.Helper()
	it, err := table.Get(t.Context(), order(n))
	if there != (err == nil) || !there && !errors.Is(err, ddb.ErrNotFound) || there && text(it["n"]) != fmt.Sprint(n) {
		t.Fatalf("order %d: %v, %v", n, it, err)
	}
	out, err := table.Update(t.Context(), order(n), &dynamodb.UpdateItemInput{
		UpdateExpression: aws.String("ADD n :more"), ExpressionAttributeValues: ddb.Item{":more": num(100)}, ReturnValues: types.ReturnValueAllNew,
	})
	switch {
	case there && (err != nil || text(out.Attributes["n"]) != fmt.Sprint(n+100)):
		t.Fatalf("order %d: %v, %v", n, out, err)
	case !there && err != nil && !(errors.Is(err, ddb.ErrMisused) && isConditional(err)):
		t.Fatalf("order %d is not there: %v", n, err)
	case !there && err == nil && text(out.Attributes["n"]) != "100": // made, where none is any more
		t.Fatalf("order %d was made as %v", n, out.Attributes)
	}
	if err := table.Delete(t.Context(), order(n)); err != nil {
		t.Fatal(err)
	}
	if _, err := table.Get(t.Context(), order(n)); !errors.Is(err, ddb.ErrNotFound) {
		t.Fatal(err)
	}
}

// TestUpdatesThatMakeItems: what an update makes is found by its key, whatever the form
// of the update.
func TestUpdatesThatMakeItems(t *testing.T) {
	db := enginetest.Client(t)
	table := orders(t, db, db, ddb.CalculatedSuffix{By: "id"}, 3)
	one, names := ddb.Item{":one": num(1)}, map[string]string{"#id": "id", "#set": "set"}
	for i, in := range []dynamodb.UpdateItemInput{
		{},
		{UpdateExpression: aws.String("ADD n :one"), ExpressionAttributeValues: one},
		{UpdateExpression: aws.String("set n = :one remove x"), ExpressionAttributeValues: one},
		{UpdateExpression: aws.String("REMOVE x SET n = :one, m = :one"), ExpressionAttributeValues: one},
		{UpdateExpression: aws.String("SET#set = :one, m = :one"), ExpressionAttributeValues: one, ExpressionAttributeNames: map[string]string{"#set": "set"}},
		{UpdateExpression: aws.String("SET #id = :id ADD #set :one"), ExpressionAttributeValues: ddb.Item{":one": num(1), ":id": str("order-5")}, ExpressionAttributeNames: names},
		{UpdateExpression: aws.String("SET id = :id"), ExpressionAttributeValues: ddb.Item{":id": str("order-6")}},
		{UpdateExpression: aws.String("ADD n :one"), ExpressionAttributeValues: one, ConditionExpression: aws.String("attribute_not_exists(x)")},
	} {
		key := order(i)
		key["placed"] = str(fmt.Sprint(i))
		for range 2 {
			if _, err := table.Update(t.Context(), key, &in); err != nil {
				t.Fatalf("%s: %v", aws.ToString(in.UpdateExpression), err)
			}
		}
		if it, err := table.Get(t.Context(), key); err != nil || text(it["id"]) != text(key["id"]) {
			t.Errorf("%s: made %v, %v", aws.ToString(in.UpdateExpression), it, err)
		}
	}
}

// TestDeletingByChance: an item on a random write shard is deleted by its sort key.
func TestDeletingByChance(t *testing.T) {
	db := enginetest.Client(t)
	for _, layout := range []ddb.Layout{ddb.RandomSuffix{}, ddb.TimeBuckets{Bucket: shard.Hour}} {
		table := orders(t, db, db, layout, 10)
		day := ddb.During(shard.Millis, epoch, epoch.Add(24*time.Hour))
		key := func(i int) ddb.Item {
			return ddb.Item{"customer": str("acme"), "placed": str(shard.Millis.Key(epoch, "#", fmt.Sprint(i)))}
		}
		for i := range 20 {
			if err := table.Put(t.Context(), key(i)); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 { // the second finds nothing
			if err := table.Delete(t.Context(), key(7)); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := table.Count(t.Context(), "acme", day); err != nil || n != 19 {
			t.Fatalf("%T: %d, %v", layout, n, err)
		}
		_, err := table.Get(t.Context(), key(1))
		if !errors.Is(err, ddb.ErrMisused) || strings.Contains(err.Error(), "By") {
			t.Error(err)
		}
	}
}

// TestErrorsOfKeysSayWhat: the operation, the name and the table.
func TestErrorsOfKeysSayWhat(t *testing.T) {
	table := ddb.Table{
		Client: &shaky{}, Name: "orders", PartitionKey: "customer", SortKey: "placed", Shards: ddb.Fixed(3), Layout: ddb.CalculatedSuffix{By: "at"},
	}
	key := ddb.Item{"customer": str("acme"), "placed": str("x")}
	_, getErr := table.Get(t.Context(), key)
	_, updateErr := table.Update(t.Context(), key, &dynamodb.UpdateItemInput{})
	_, pageErr := table.Page(t.Context(), "acme", ddb.Span{After: "x"})
	for operation, err := range map[string]error{
		"reading an item": getErr, "updating an item": updateErr, "deleting an item": table.Delete(t.Context(), key),
		"putting an item": table.Put(t.Context(), key), "reading a page": pageErr,
	} {
		if operation != "reading a page" && !strings.Contains(err.Error(), `placed "x"`) {
			t.Errorf("%s: which item? %v", operation, err)
		}
		if !errors.Is(err, ddb.ErrMisused) || !strings.HasPrefix(err.Error(), operation) || !strings.Contains(err.Error(), `"acme" of table orders`) {
			t.Errorf("%s: %v", operation, err)
		}
	}
}
