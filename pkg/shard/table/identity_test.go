package table_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

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
		if n := len(idsOf(t, sharded, day)); n != 19 {
			t.Fatalf("%T: %d items, want 19", layout, n)
		}
		_, err := sharded.Get(t.Context(), key(1), libtest.Epoch)
		if !errors.Is(err, shard.ErrMisused) || strings.Contains(err.Error(), "By") {
			t.Errorf("%T: Get: error %v, want ErrMisused", layout, err)
		}
	}
}
