package table_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// calls counts successful calls by partition key.
type calls struct {
	table.Client
	gets, updates, deletes map[string]int
}

func (c *calls) reset() {
	c.gets, c.updates, c.deletes = map[string]int{}, map[string]int{}, map[string]int{}
}

func (c *calls) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	out, err := c.Client.GetItem(ctx, in, o...)
	return out, count(c.gets, in.Key, err)
}

func (c *calls) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	out, err := c.Client.UpdateItem(ctx, in, o...)
	return out, count(c.updates, in.Key, err)
}

func (c *calls) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	out, err := c.Client.DeleteItem(ctx, in, o...)
	return out, count(c.deletes, in.Key, err)
}

func count(into map[string]int, key table.Item, err error) error {
	if err == nil { // a failed call is retried
		into[libtest.Text(key["customer"])]++
	}
	return err
}

// TestFixedCountNeedsOneCall checks that, with a fixed count, Get, Update and Delete each send one request, to the item's
// partition key.
func TestFixedCountNeedsOneCall(t *testing.T) {
	db := enginetest.Client(t)
	counted := &calls{Client: db}
	for name, c := range map[string]struct {
		layout table.Layout
		place  func(sort string) string
	}{
		"suffix": {table.CalculatedSuffix{}, func(sort string) string { return fmt.Sprint("acme#", shard.Calculated(sort, 10)) }},
		"suffix, timed": {table.CalculatedSuffix{Time: table.SortTime("placed", "")}, func(sort string) string {
			return fmt.Sprint("acme#", shard.Calculated(sort, 10))
		}},
		"buckets": {table.TimeBuckets{Bucket: shard.Day, By: "placed"}, func(sort string) string {
			return fmt.Sprint("acme#", sort[:10], "#", shard.Calculated(sort, 10))
		}},
		"hybrid": {table.HybridBuckets{Bucket: shard.Day}, func(sort string) string {
			return fmt.Sprint(shard.Calculated("acme", 10), "#", sort[:10])
		}},
	} {
		sharded := libtest.Orders(t, counted, db, c.layout, 10)
		for i, at := range []time.Time{{}, libtest.Epoch, libtest.Epoch.AddDate(300, 0, 0)} { // the zero time is valid
			sort := shard.Millis.Key(at, "#", fmt.Sprint(i))
			key, place := table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str(sort)}, c.place(sort)
			counted.reset()
			_, getErr := sharded.Get(t.Context(), key, libtest.Epoch)
			_, updateErr := sharded.Update(t.Context(), key, &dynamodb.UpdateItemInput{
				UpdateExpression: aws.String("ADD n :one"), ExpressionAttributeValues: table.Item{":one": libtest.Num(1)},
			}, libtest.Epoch)
			if err := errors.Join(updateErr, sharded.Delete(t.Context(), key, libtest.Epoch)); err != nil || !errors.Is(getErr, shard.ErrNotFound) {
				t.Fatal(name, err, getErr)
			}
			for what, got := range map[string]map[string]int{"get": counted.gets, "update": counted.updates, "delete": counted.deletes} {
				if len(got) != 1 || got[place] != 1 {
					t.Errorf("%s, %s of %s: requests %v, want one to %s", name, what, sort, got, place)
				}
			}
		}
	}
}
