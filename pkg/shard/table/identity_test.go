package table_test

import (
	"errors"
	"fmt"
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
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// TestEqualSortKeys checks that pages have all items with equal sort keys and different ids. Get, Update and Delete never
// use an item with another id.
func TestEqualSortKeys(t *testing.T) {
	t.Parallel()
	db := enginetest.Client(t)
	for _, layout := range []table.Layout{table.CalculatedSuffix{By: "id"}, table.TimeBuckets{Bucket: shard.Day, By: "id"}} {
		sharded := newOrders(t, db, db, layout, 10)
		want := putDay(t, sharded, 10)
		day := table.During(shard.Millis, libtest.Epoch.Truncate(24*time.Hour), libtest.Epoch.Add(24*time.Hour))
		if got := idsOf(t, sharded, day); !slices.Equal(got, want) {
			t.Fatalf("%T: %v, want %v", layout, got, want)
		}
		checkPages(t, sharded, day, want)
		for n := range 20 {
			checkKey(t, sharded, n, slices.Contains(want, libtest.Text(libtest.Order(n)["id"])))
		}
		if got := idsOf(t, sharded, day); len(got) != 0 {
			t.Fatalf("%T: %v are left after the deletes", layout, got)
		}
	}
}

// checkPages checks that pages of three have all items once, in both directions.
func checkPages(t *testing.T, sharded *table.Table, s table.Span, want []string) {
	t.Helper()
	for _, s.Desc = range []bool{false, true} {
		var got []string
		s.Limit, s.After = 3, ""
		for more := true; more; more = s.After != "" {
			page, err := sharded.Page(t.Context(), "acme", s, libtest.Epoch)
			require.NoError(t, err)
			for _, it := range page.Items {
				got = append(got, libtest.Text(it["id"]))
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

// checkKey gets, updates and deletes an order by its key. If the order was not stored, another one may have its write
// shard and sort key.
func checkKey(t *testing.T, sharded *table.Table, n int, there bool) {
	t.Helper()
	it, err := sharded.Get(t.Context(), libtest.Order(n), libtest.Epoch)
	if there != (err == nil) || !there && !errors.Is(err, shard.ErrNotFound) || there && libtest.Text(it["n"]) != fmt.Sprint(n) {
		t.Fatalf("Get of order %d: %v, %v; stored: %t", n, it, err, there)
	}
	out, err := sharded.Update(t.Context(), libtest.Order(n), &dynamodb.UpdateItemInput{
		UpdateExpression: aws.String("ADD n :more"), ExpressionAttributeValues: table.Item{":more": libtest.Num(100)}, ReturnValues: types.ReturnValueAllNew,
	}, libtest.Epoch)
	switch {
	case there && (err != nil || libtest.Text(out.Attributes["n"]) != fmt.Sprint(n+100) || libtest.Text(out.Attributes["customer"]) != "acme"):
		t.Fatalf("Update of order %d: %v, %v; want n = %d", n, out, err, n+100)
	case !there && err != nil && !(errors.Is(err, shard.ErrMisused) && errors.As(err, new(*types.ConditionalCheckFailedException))):
		t.Fatalf("Update of order %d, which is not stored: error %v, want ErrMisused of a condition", n, err)
	case !there && err == nil && libtest.Text(out.Attributes["n"]) != "100": // the other order was deleted
		t.Fatalf("Update created order %d as %v, want n = 100", n, out.Attributes)
	}
	require.NoError(t, sharded.Delete(t.Context(), libtest.Order(n), libtest.Epoch))
	if _, err := sharded.Get(t.Context(), libtest.Order(n), libtest.Epoch); !errors.Is(err, shard.ErrNotFound) {
		t.Fatalf("Get of deleted order %d: error %v, want ErrNotFound", n, err)
	}
}

// TestUpdateCreatesFindableItem checks that Get finds an item that an update created, whatever the update's expression.
func TestUpdateCreatesFindableItem(t *testing.T) {
	db := enginetest.Client(t)
	sharded := newOrders(t, db, db, table.CalculatedSuffix{By: "id"}, 3)
	one, names := table.Item{":one": libtest.Num(1)}, map[string]string{"#id": "id", "#set": "set"}
	for i, in := range []dynamodb.UpdateItemInput{
		{},
		{UpdateExpression: aws.String("ADD n :one"), ExpressionAttributeValues: one},
		{UpdateExpression: aws.String("set n = :one remove x"), ExpressionAttributeValues: one},
		{UpdateExpression: aws.String("REMOVE x SET n = :one, m = :one"), ExpressionAttributeValues: one},
		{UpdateExpression: aws.String("SET#set = :one, m = :one"), ExpressionAttributeValues: one, ExpressionAttributeNames: map[string]string{"#set": "set"}},
		{UpdateExpression: aws.String("SET #id = :id ADD #set :one"), ExpressionAttributeValues: table.Item{":one": libtest.Num(1), ":id": libtest.Str("order-5")}, ExpressionAttributeNames: names},
		{UpdateExpression: aws.String("SET id = :id"), ExpressionAttributeValues: table.Item{":id": libtest.Str("order-6")}},
		{UpdateExpression: aws.String("ADD n :one"), ExpressionAttributeValues: one, ConditionExpression: aws.String("attribute_not_exists(x)")},
	} {
		key := libtest.Order(i)
		key["placed"] = libtest.Str(fmt.Sprint(i))
		for range 2 {
			if _, err := sharded.Update(t.Context(), key, &in, libtest.Epoch); err != nil {
				t.Fatalf("%s: %v", aws.ToString(in.UpdateExpression), err)
			}
		}
		if it, err := sharded.Get(t.Context(), key, libtest.Epoch); err != nil || libtest.Text(it["id"]) != libtest.Text(key["id"]) {
			t.Errorf("%s: created %v, %v", aws.ToString(in.UpdateExpression), it, err)
		}
	}
}

// TestDeleteOnRandomShard checks that Delete finds an item on a random write shard by its sort key.
func TestDeleteOnRandomShard(t *testing.T) {
	db := enginetest.Client(t)
	for _, layout := range []table.Layout{table.RandomSuffix{}, table.TimeBuckets{Bucket: shard.Hour}} {
		sharded := newOrders(t, db, db, layout, 10)
		day := table.During(shard.Millis, libtest.Epoch, libtest.Epoch.Add(24*time.Hour))
		key := func(i int) table.Item {
			return table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str(shard.Millis.Key(libtest.Epoch, "#", fmt.Sprint(i)))}
		}
		for i := range 20 {
			require.NoError(t, sharded.Put(t.Context(), key(i), libtest.Epoch))
		}
		for range 2 { // the second delete finds no item
			require.NoError(t, sharded.Delete(t.Context(), key(7), libtest.Epoch))
		}
		if n, err := sharded.Count(t.Context(), "acme", day, libtest.Epoch); err != nil || n != 19 {
			t.Fatalf("%T: %d items, %v; want 19", layout, n, err)
		}
		_, err := sharded.Get(t.Context(), key(1), libtest.Epoch)
		if !errors.Is(err, shard.ErrMisused) || strings.Contains(err.Error(), "By") {
			t.Errorf("%T: Get: error %v, want ErrMisused", layout, err)
		}
	}
}

// TestErrorsNameOperationAndKey checks that errors name the operation, the item's key and the table.
func TestErrorsNameOperationAndKey(t *testing.T) {
	sharded := table.Table{
		Client: &shaky{}, Name: "orders", PartitionKey: "customer", SortKey: "placed", Shards: table.Fixed(3), Layout: table.CalculatedSuffix{By: "at"},
	}
	key := table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str("x")}
	_, getErr := sharded.Get(t.Context(), key, libtest.Epoch)
	_, updateErr := sharded.Update(t.Context(), key, &dynamodb.UpdateItemInput{}, libtest.Epoch)
	_, pageErr := sharded.Page(t.Context(), "acme", table.Span{After: "x"}, libtest.Epoch)
	for operation, err := range map[string]error{
		"reading an item": getErr, "updating an item": updateErr, "deleting an item": sharded.Delete(t.Context(), key, libtest.Epoch),
		"putting an item": sharded.Put(t.Context(), key, libtest.Epoch), "reading a page": pageErr,
	} {
		if operation != "reading a page" && !strings.Contains(err.Error(), `placed "x"`) {
			t.Errorf("%s: error %v lacks the sort key", operation, err)
		}
		if !errors.Is(err, shard.ErrMisused) || !strings.HasPrefix(err.Error(), operation) || !strings.Contains(err.Error(), `"acme" of table orders`) {
			t.Errorf("error %v, want ErrMisused that begins with %q and names the key and the table", err, operation)
		}
	}
}
