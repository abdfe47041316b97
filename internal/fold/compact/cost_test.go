package compact_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/compact"
	"github.com/hotshard/hotshard/internal/fold/measures"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
)

// storeDay stores the 24 hourly rollups of an entity's day, each in 20 fragments with three measures.
func storeDay(t rapid.TB, db *dynamodb.Client, table string, day time.Time) {
	t.Helper()
	var p measures.Part
	p = p.Clone()
	for i := range 1000 {
		n := strconv.Itoa(i)
		p.Add(map[string]string{"temperature": "2" + n + ".5", "humidity": "4" + n + ".25", "voltage": "3." + n})
	}
	var puts []types.WriteRequest
	for hour := range 24 {
		for s := range 20 {
			stored := p.Attributes()
			stored["seq"] = dynamo.String(fmt.Sprintf("%040d", 1_000_000+s))
			pk, sk := schema.RollupKey("sensor/berlin-1", shard.Hour, day.Add(time.Duration(hour)*time.Hour), fmt.Sprintf("shardId-%020d-%08x", 1767600000000, s))
			stored["pk"], stored["sk"], stored["as_of"] = dynamo.String(pk), dynamo.String(sk), dynamo.Number(day.Add(25*time.Hour).UnixMilli())
			puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: stored}})
		}
	}
	writeAll(t, db, table, puts)
}

// writeAll writes or deletes many items, 25 at a time.
func writeAll(t rapid.TB, db *dynamodb.Client, table string, list []types.WriteRequest) {
	t.Helper()
	for chunk := range slices.Chunk(list, 25) {
		out, err := db.BatchWriteItem(context.Background(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: chunk}})
		if err != nil || len(out.UnprocessedItems) > 0 {
			t.Fatalf("%d items are not done, %v", len(out.UnprocessedItems[table]), err)
		}
	}
}

// readDay reads the day as the API does.
func readDay(t rapid.TB, db *dynamodb.Client, table string, day time.Time) (items int) {
	t.Helper()
	low, high := schema.RollupSortBounds(day, day.Add(24*time.Hour))
	in := &dynamodb.QueryInput{
		TableName: &table, KeyConditionExpression: aws.String("pk = :pk AND sk BETWEEN :low AND :high"),
		ExpressionAttributeValues: item{":pk": dynamo.String(schema.RollupPartitions("sensor/berlin-1", day, day.Add(1))[0]), ":low": dynamo.String(low), ":high": dynamo.String(high)},
	}
	for _, err := range dynamo.Items(context.Background(), db, in) {
		if err != nil {
			t.Fatal(err)
		}
		items++
	}
	return items
}

// TestWhatAMergeCosts counts capacity units as AWS would charge them. A merge costs two write units for each
// fragment and for the merged one. The test compares a day's read units before and after.
func TestWhatAMergeCosts(t *testing.T) {
	db := enginetest.Client(t)
	names := enginetest.Tables(t, db)
	counted, limits := enginetest.Metered(t, db)
	day := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	storeDay(t, db, names.Rollups, day)
	now := enginetest.Later
	compactor := compact.New(compact.Options{RollupsTable: names.Rollups, WriteUnits: 1_000_000}, counted, slog.New(slog.DiscardHandler), func() time.Time { return now })
	reading := func() (items int, units float64) {
		limits.Reset()
		items = readDay(t, counted, names.Rollups, day)
		return items, limits.Stats().ReadUnits
	}
	items, units := reading()
	t.Logf("before: %d items, %.1f read units", items, units)
	limits.Reset()
	answer, err := compactor.Run(context.Background())
	if err != nil || answer.Buckets != 24 || answer.Merged != 480 {
		t.Fatalf("the task answered %+v, %v; want 480 fragments of 24 rollups merged", answer, err)
	}
	for _, o := range limits.Stats().Operations {
		t.Logf("%s: %.1f write units, %.1f read units", o.Operation, o.WriteUnits, o.ReadUnits)
		if o.Operation == "TransactWriteItems" && o.WriteUnits != 24*2*21 {
			t.Errorf("24 merges of 20 parts took %.1f write units, want 1008", o.WriteUnits)
		}
	}
	withEmptied, unitsWithEmptied := reading()
	t.Logf("after: %d items, %.1f read units", withEmptied, unitsWithEmptied)
	deleteEmptied(t, db, names.Rollups, day)
	after, unitsAfter := reading()
	t.Logf("after the emptied fragments have expired: %d items, %.1f read units", after, unitsAfter)
	if items != 480 || withEmptied != 504 || after != 24 || unitsWithEmptied > units || unitsAfter > units/15 {
		t.Errorf("%d items for %.1f read units, %d for %.1f after the merge, and %d for %.1f after the expiry", items, units, withEmptied, unitsWithEmptied, after, unitsAfter)
	}
}

// deleteEmptied deletes the emptied fragments, as the table's TTL does two days later.
func deleteEmptied(t rapid.TB, db *dynamodb.Client, table string, day time.Time) {
	t.Helper()
	var deletes []types.WriteRequest
	for _, it := range enginetest.Query(t, db, table, schema.RollupPartitions("sensor/berlin-1", day, day.Add(1))[0]) {
		if it["expires_at"] != nil {
			deletes = append(deletes, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: item{"pk": it["pk"], "sk": it["sk"]}}})
		}
	}
	writeAll(t, db, table, deletes)
}
