package table_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// now is the time of the examples' calls. Programs use time.Now().
var now = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// Writes go to one of ten partition keys at random. A read merges all ten in the order of
// the sort keys, and returns the items with their original keys.
func ExampleRandomSuffix() {
	ctx, client := context.Background(), libtest.ExampleTable("orders", "customer", "placed")
	orders := table.Table{
		Client: client, Name: "orders", PartitionKey: "customer", SortKey: "placed",
		Shards: table.Fixed(10), Layout: table.RandomSuffix{},
	}
	for _, at := range []string{"2026-01-05T12:00:02Z#b", "2026-01-05T12:00:01Z#a", "2026-01-05T12:00:03Z#c"} {
		if err := orders.Put(ctx, table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str(at)}, now); err != nil {
			fmt.Println(err)
		}
	}
	for item, err := range orders.Query(ctx, "acme", table.Span{Low: libtest.Str("2026-01-05T12:00:02Z")}, now) {
		fmt.Println(libtest.Text(item["customer"]), libtest.Text(item["placed"]), err)
	}
	// Output:
	// acme 2026-01-05T12:00:02Z#b <nil>
	// acme 2026-01-05T12:00:03Z#c <nil>
}

// The write shard is calculated from an id, so that Get needs one GetItem. The sort key
// ends in the id, so that it is unique.
func ExampleCalculatedSuffix() {
	ctx, client := context.Background(), libtest.ExampleTable("orders", "customer", "placed")
	orders := table.Table{
		Client: client, Name: "orders", PartitionKey: "customer", SortKey: "placed",
		Shards: table.Fixed(10), Layout: table.CalculatedSuffix{By: "id"},
	}
	placed := shard.Millis.Key(time.Date(2026, 1, 5, 12, 0, 45, 490e6, time.UTC), "#", "order-1234")
	key := table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str(placed), "id": libtest.Str("order-1234")}
	err := orders.Put(ctx, table.Item{"customer": key["customer"], "placed": key["placed"], "id": key["id"], "amount": libtest.Num(40)}, now)
	fmt.Println(err)
	_, err = orders.Update(ctx, key, &dynamodb.UpdateItemInput{
		UpdateExpression: aws.String("ADD amount :more"), ExpressionAttributeValues: table.Item{":more": libtest.Num(2)},
	}, now)
	fmt.Println(err)
	item, err := orders.Get(ctx, key, now)
	fmt.Println(libtest.Text(item["amount"]), err)
	fmt.Println(orders.Delete(ctx, key, now))
	_, err = orders.Get(ctx, key, now)
	fmt.Println(errors.Is(err, shard.ErrNotFound))
	// Output:
	// <nil>
	// <nil>
	// 42 <nil>
	// <nil>
	// true
}

// Each hour of a series has four partition keys. Any span is read in pages.
func ExampleTimeBuckets() {
	ctx, client := context.Background(), libtest.ExampleTable("readings", "sensor", "at")
	readings := table.Table{
		Client: client, Name: "readings", PartitionKey: "sensor", SortKey: "at",
		Shards: table.Fixed(4), Layout: table.TimeBuckets{Bucket: shard.Hour},
	}
	noon := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	for i := range 5 {
		at := shard.Millis.Format(noon.Add(time.Duration(i) * 40 * time.Minute))
		if err := readings.Put(ctx, table.Item{"sensor": libtest.Str("s-1"), "at": libtest.Str(at)}, now); err != nil {
			fmt.Println(err)
		}
	}
	span := table.During(shard.Millis, noon, noon.Add(2*time.Hour))
	span.Limit = 2
	for more := true; more; more = span.After != "" {
		page, err := readings.Page(ctx, "s-1", span, now)
		for _, item := range page.Items {
			fmt.Print(libtest.Text(item["at"])[11:16], " ")
		}
		fmt.Println(err)
		span.After = page.Next
	}
	// Output:
	// 12:00 12:40 <nil>
	// 13:20 <nil>
}

// Many sensors share a few partition keys; a day of one of them is one Query.
func ExampleHybridBuckets() {
	ctx, client := context.Background(), libtest.ExampleTable("readings", "pk", "sk")
	readings := table.Table{
		Client: client, Name: "readings", PartitionKey: "pk", SortKey: "sk",
		Shards: table.Fixed(8), Layout: table.HybridBuckets{Bucket: shard.Day},
	}
	noon := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	for _, sensor := range []string{"s-1", "s-2"} {
		if err := readings.Put(ctx, table.Item{"pk": libtest.Str(sensor), "sk": libtest.Str(shard.Millis.Format(noon))}, now); err != nil {
			fmt.Println(err)
		}
	}
	for item, err := range readings.Query(ctx, "s-2", table.During(shard.Millis, noon, noon.Add(time.Hour)), now) {
		fmt.Println(libtest.Text(item["pk"]), libtest.Text(item["sk"]), err)
	}
	stored, err := client.Scan(ctx, &dynamodb.ScanInput{TableName: aws.String("readings")})
	fmt.Println(err)
	for _, item := range stored.Items {
		if sk := libtest.Text(item["sk"]); sk[:3] == "s-2" {
			fmt.Println("stored as", libtest.Text(item["pk"]), sk)
		}
	}
	// Output:
	// s-2 2026-01-05T12:00:00.000Z <nil>
	// <nil>
	// stored as 7#2026-01-05 s-2#2026-01-05T12:00:00.000Z
}

// A table reads and writes the items that other libraries stored as BASE#SHARD_7, or as
// path_3 with shard.Underscore.
func ExampleTable_otherFormats() {
	ctx, client := context.Background(), libtest.ExampleTable("events", "PK", "SK")
	_, err := client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String("events"), Item: table.Item{"PK": libtest.Str("BASE#SHARD_7"), "SK": libtest.Str("1")},
	})
	fmt.Println(err)
	events := table.Table{
		Client: client, Name: "events", PartitionKey: "PK", SortKey: "SK",
		Format: shard.HashShard, Shards: table.Fixed(10), Layout: table.RandomSuffix{},
	}
	for item, err := range events.Query(ctx, "BASE", table.Span{}, now) {
		fmt.Println(libtest.Text(item["PK"]), libtest.Text(item["SK"]), err)
	}
	// Output:
	// <nil>
	// BASE 1 <nil>
}

// A counter has 20 items in a table of the caller's.
func ExampleTally() {
	ctx, client := context.Background(), libtest.ExampleTable("stats", "name", "kind")
	views := table.Tally{
		Client: client, Table: "stats", PartitionKey: "name", SortKey: "kind", Sort: libtest.Str("views"),
		Value: "total", Shards: table.Fixed(20),
	}
	for range 10 {
		if err := views.Add(ctx, "home", 1, now); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(views.Sum(ctx, []string{"home"}, now))
	// Output: 10 <nil>
}

// Each view of a page is an item in the time bucket of its minute, and increments the
// counter of that minute.
func ExampleTally_lastMinutes() {
	ctx, client := context.Background(), libtest.ExampleTable("views", "page", "at")
	now := time.Date(2026, 1, 5, 12, 10, 30, 0, time.UTC)
	events := table.Table{
		Client: client, Name: "views", PartitionKey: "page", SortKey: "at",
		Shards: table.Fixed(4), Layout: table.TimeBuckets{Bucket: shard.Minute},
	}
	counts := table.Tally{
		Client: client, Table: "views", PartitionKey: "page", SortKey: "at", Sort: libtest.Str("count"), Value: "n", Shards: table.Fixed(4),
	}
	minute := func(t time.Time) string { return "home@" + shard.Minute.Label(t) }
	for i := range 12 { // a view a minute
		at := now.Add(-time.Duration(i) * time.Minute)
		view := table.Item{"page": libtest.Str("home"), "at": libtest.Str(shard.Millis.Key(at, "#", fmt.Sprint("visit-", i)))}
		if err := errors.Join(events.Put(ctx, view, now), counts.Add(ctx, minute(at), 1, now)); err != nil {
			fmt.Println(err)
		}
	}
	var last []string
	for i := range 5 {
		last = append(last, minute(now.Add(-time.Duration(i)*time.Minute)))
	}
	fmt.Println(counts.Sum(ctx, last, now))
	page, err := events.Page(ctx, "home", table.During(shard.Millis, now.Add(-5*time.Minute), now), now)
	fmt.Println(len(page.Items), err)
	// Output:
	// 5 <nil>
	// 5 <nil>
}
