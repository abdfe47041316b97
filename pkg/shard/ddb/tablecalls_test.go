package ddb_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/local/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// calls counts, by partition key, the calls that were answered.
type calls struct {
	ddb.TableClient
	gets, updates, deletes map[string]int
}

func (c *calls) reset() {
	c.gets, c.updates, c.deletes = map[string]int{}, map[string]int{}, map[string]int{}
}

func (c *calls) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	out, err := c.TableClient.GetItem(ctx, in, o...)
	return out, count(c.gets, in.Key, err)
}

func (c *calls) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	out, err := c.TableClient.UpdateItem(ctx, in, o...)
	return out, count(c.updates, in.Key, err)
}

func (c *calls) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	out, err := c.TableClient.DeleteItem(ctx, in, o...)
	return out, count(c.deletes, in.Key, err)
}

func count(into map[string]int, key ddb.Item, err error) error {
	if err == nil { // one that failed is made again
		into[text(key["customer"])]++
	}
	return err
}

// TestCallsWithAFixedCount: an item has one place, whatever its time, and each call goes
// there alone.
func TestCallsWithAFixedCount(t *testing.T) {
	db := enginetest.Client(t)
	counted := &calls{TableClient: db}
	for name, c := range map[string]struct {
		layout ddb.Layout
		place  func(sort string) string
	}{
		"suffix": {ddb.CalculatedSuffix{}, func(sort string) string { return fmt.Sprint("acme#", shard.Calculated(sort, 10)) }},
		"suffix, timed": {ddb.CalculatedSuffix{Time: ddb.SortTime("placed", "")}, func(sort string) string {
			return fmt.Sprint("acme#", shard.Calculated(sort, 10))
		}},
		"buckets": {ddb.TimeBuckets{Bucket: shard.Day, By: "placed"}, func(sort string) string {
			return fmt.Sprint("acme#", sort[:10], "#", shard.Calculated(sort, 10))
		}},
		"hybrid": {ddb.HybridBuckets{Bucket: shard.Day}, func(sort string) string {
			return fmt.Sprint(shard.Calculated("acme", 10), "#", sort[:10])
		}},
	} {
		table := orders(t, counted, db, c.layout, 10)
		for i, at := range []time.Time{{}, epoch, epoch.AddDate(300, 0, 0)} { // the zero time is one as any other
			sort := shard.Millis.Key(at, "#", fmt.Sprint(i))
			key, place := ddb.Item{"customer": str("acme"), "placed": str(sort)}, c.place(sort)
			counted.reset()
			_, getErr := table.Get(t.Context(), key)
			_, updateErr := table.Update(t.Context(), key, &dynamodb.UpdateItemInput{
				UpdateExpression: aws.String("ADD n :one"), ExpressionAttributeValues: ddb.Item{":one": num(1)},
			})
			if err := errors.Join(updateErr, table.Delete(t.Context(), key)); err != nil || !errors.Is(getErr, ddb.ErrNotFound) {
				t.Fatal(name, err, getErr)
			}
			for what, got := range map[string]map[string]int{"get": counted.gets, "update": counted.updates, "delete": counted.deletes} {
				if len(got) != 1 || got[place] != 1 {
					t.Errorf("%s, %s of %s: calls %v, want one of %s", name, what, sort, got, place)
				}
			}
		}
	}
}
