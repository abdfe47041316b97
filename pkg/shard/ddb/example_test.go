package ddb_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/local/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// exampleTable makes a caller's table with these names of keys, of type S, and returns
// the client that sees it.
func exampleTable(name, partitionKey, sortKey string) *dynamodb.Client {
	client := enginetest.ForExamples()
	_, err := client.CreateTable(context.Background(), &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: &partitionKey, AttributeType: "S"}, {AttributeName: &sortKey, AttributeType: "S"},
		},
		KeySchema: []types.KeySchemaElement{{AttributeName: &partitionKey, KeyType: "HASH"}, {AttributeName: &sortKey, KeyType: "RANGE"}},
	})
	if err != nil {
		panic(err)
	}
	return client
}

// Writes go to a random one of ten partition keys. A read gathers all ten, in the order
// of the sort keys; the items are as they were before sharding.
func ExampleRandomSuffix() {
	ctx, client := context.Background(), exampleTable("orders", "customer", "placed")
	orders := ddb.Table{
		Client: client, Name: "orders", PartitionKey: "customer", SortKey: "placed",
		Shards: ddb.Fixed(10), Layout: ddb.RandomSuffix{},
	}
	for _, at := range []string{"2026-01-05T12:00:02Z#b", "2026-01-05T12:00:01Z#a", "2026-01-05T12:00:03Z#c"} {
		if err := orders.Put(ctx, ddb.Item{"customer": str("acme"), "placed": str(at)}); err != nil {
			fmt.Println(err)
		}
	}
	for item, err := range orders.Query(ctx, "acme", ddb.Span{Low: str("2026-01-05T12:00:02Z")}) {
		fmt.Println(text(item["customer"]), text(item["placed"]), err)
	}
	n, err := orders.Count(ctx, "acme", ddb.Span{})
	fmt.Println(n, err)
	// Output:
	// acme 2026-01-05T12:00:02Z#b <nil>
	// acme 2026-01-05T12:00:03Z#c <nil>
	// 3 <nil>
}

// The write shard is calculated from an id, so that one item is one GetItem. The sort
// key ends in the id, so that no two items have the same.
func ExampleCalculatedSuffix() {
	ctx, client := context.Background(), exampleTable("orders", "customer", "placed")
	orders := ddb.Table{
		Client: client, Name: "orders", PartitionKey: "customer", SortKey: "placed",
		Shards: ddb.Fixed(10), Layout: ddb.CalculatedSuffix{By: "id"},
	}
	placed := shard.Millis.Key(time.Date(2026, 1, 5, 12, 0, 45, 490e6, time.UTC), "#", "order-1234")
	key := ddb.Item{"customer": str("acme"), "placed": str(placed), "id": str("order-1234")}
	err := orders.Put(ctx, ddb.Item{"customer": key["customer"], "placed": key["placed"], "id": key["id"], "amount": num(40)})
	fmt.Println(err)
	_, err = orders.Update(ctx, key, &dynamodb.UpdateItemInput{
		UpdateExpression: aws.String("ADD amount :more"), ExpressionAttributeValues: ddb.Item{":more": num(2)},
	})
	fmt.Println(err)
	item, err := orders.Get(ctx, key)
	fmt.Println(text(item["amount"]), err)
	fmt.Println(orders.Delete(ctx, key))
	_, err = orders.Get(ctx, key)
	fmt.Println(errors.Is(err, ddb.ErrNotFound))
	// Output:
	// <nil>
	// <nil>
	// 42 <nil>
	// <nil>
	// true
}

// A series is cut into hours of four partition keys each, and read over any span, in
// pages.
func ExampleTimeBuckets() {
	ctx, client := context.Background(), exampleTable("readings", "sensor", "at")
	readings := ddb.Table{
		Client: client, Name: "readings", PartitionKey: "sensor", SortKey: "at",
		Shards: ddb.Fixed(4), Layout: ddb.TimeBuckets{Bucket: shard.Hour, Offset: true},
	}
	noon := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	for i := range 5 {
		at := shard.Millis.Format(noon.Add(time.Duration(i) * 40 * time.Minute))
		if err := readings.Put(ctx, ddb.Item{"sensor": str("s-1"), "at": str(at)}); err != nil {
			fmt.Println(err)
		}
	}
	span := ddb.During(shard.Millis, noon, noon.Add(2*time.Hour))
	span.Limit = 2
	for more := true; more; more = span.After != "" {
		page, err := readings.Page(ctx, "s-1", span)
		for _, item := range page.Items {
			fmt.Print(text(item["at"])[11:16], " ")
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
	ctx, client := context.Background(), exampleTable("readings", "pk", "sk")
	readings := ddb.Table{
		Client: client, Name: "readings", PartitionKey: "pk", SortKey: "sk",
		Shards: ddb.Fixed(8), Layout: ddb.HybridBuckets{Bucket: shard.Day},
	}
	noon := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	for _, sensor := range []string{"s-1", "s-2"} {
		if err := readings.Put(ctx, ddb.Item{"pk": str(sensor), "sk": str(shard.Millis.Format(noon))}); err != nil {
			fmt.Println(err)
		}
	}
	for item, err := range readings.Query(ctx, "s-2", ddb.During(shard.Millis, noon, noon.Add(time.Hour))) {
		fmt.Println(text(item["pk"]), text(item["sk"]), err)
	}
	stored, err := client.Scan(ctx, &dynamodb.ScanInput{TableName: aws.String("readings")})
	fmt.Println(err)
	for _, item := range stored.Items {
		if sk := text(item["sk"]); sk[:3] == "s-2" {
			fmt.Println("stored as", text(item["pk"]), sk)
		}
	}
	// Output:
	// s-2 2026-01-05T12:00:00.000Z <nil>
	// <nil>
	// stored as 7#2026-01-05 s-2#2026-01-05T12:00:00.000Z
}

// Items that other libraries wrote as BASE#SHARD_7 are read and written with their
// format; so are path_3 keys with shard.Underscore.
func ExampleTable_otherFormats() {
	ctx, client := context.Background(), exampleTable("events", "PK", "SK")
	_, err := client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String("events"), Item: ddb.Item{"PK": str("BASE#SHARD_7"), "SK": str("1")},
	})
	fmt.Println(err)
	events := ddb.Table{
		Client: client, Name: "events", PartitionKey: "PK", SortKey: "SK",
		Format: shard.HashShard, Shards: ddb.Fixed(10), Layout: ddb.RandomSuffix{},
	}
	for item, err := range events.Query(ctx, "BASE", ddb.Span{}) {
		fmt.Println(text(item["PK"]), text(item["SK"]), err)
	}
	// Output:
	// <nil>
	// BASE 1 <nil>
}

// A counter over 20 items of one's own table.
func ExampleTally() {
	ctx, client := context.Background(), exampleTable("stats", "name", "kind")
	views := ddb.Tally{
		Client: client, Table: "stats", PartitionKey: "name", SortKey: "kind", Sort: str("views"),
		Value: "total", Shards: ddb.Fixed(20),
	}
	for range 10 {
		if err := views.Add(ctx, "home", 1); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(views.Sum(ctx, true, "home"))
	// Output: 10 <nil>
}

// Views of the last minutes: each view is an event in a bucket of a minute, and a
// count in a tally of that minute.
func ExampleTally_lastMinutes() {
	ctx, client := context.Background(), exampleTable("views", "page", "at")
	now := time.Date(2026, 1, 5, 12, 10, 30, 0, time.UTC)
	events := ddb.Table{
		Client: client, Name: "views", PartitionKey: "page", SortKey: "at",
		Shards: ddb.Fixed(4), Layout: ddb.TimeBuckets{Bucket: shard.Minute},
	}
	counts := ddb.Tally{
		Client: client, Table: "views", PartitionKey: "page", SortKey: "at", Sort: str("count"), Value: "n", Shards: ddb.Fixed(4),
	}
	minute := func(t time.Time) string { return "home@" + shard.Minute.Label(t, 0) }
	for i := range 12 { // a view a minute
		at := now.Add(-time.Duration(i) * time.Minute)
		view := ddb.Item{"page": str("home"), "at": str(shard.Millis.Key(at, "#", fmt.Sprint("visit-", i)))}
		if err := errors.Join(events.Put(ctx, view), counts.Add(ctx, minute(at), 1)); err != nil {
			fmt.Println(err)
		}
	}
	var last []string
	for i := range 5 {
		last = append(last, minute(now.Add(-time.Duration(i)*time.Minute)))
	}
	fmt.Println(counts.Sum(ctx, false, last...))
	fmt.Println(events.Count(ctx, "home", ddb.During(shard.Millis, now.Add(-5*time.Minute), now)))
	// Output:
	// 5 <nil>
	// 5 <nil>
}

// From four write shards to sixteen, while programs run. Each phase is a deployment.
func ExampleMigration() {
	ctx, client := context.Background(), exampleTable("orders", "customer", "placed")
	four := ddb.Table{
		Client: client, Name: "orders", PartitionKey: "customer", SortKey: "placed",
		Shards: ddb.Fixed(4), Layout: ddb.CalculatedSuffix{},
	}
	sixteen := four
	sixteen.Shards = ddb.Fixed(16)
	fmt.Println(four.Put(ctx, ddb.Item{"customer": str("acme"), "placed": str("long ago")}))

	orders := ddb.Migration{Client: client, From: &four, To: &sixteen}
	same, err := orders.Verify(ctx, "acme", ddb.Span{})
	fmt.Println("free:", same.Equal(), err)

	orders.Phase = ddb.WriteBoth
	fmt.Println(orders.Put(ctx, ddb.Item{"customer": str("acme"), "placed": str("now")}))
	_, err = orders.Copy(ctx, "acme", ddb.Span{}, nil)
	fmt.Println(err)

	orders.Phase = ddb.ReadNew
	same, err = orders.Verify(ctx, "acme", ddb.Span{})
	fmt.Println(same.Equal(), err)

	orders.Phase = ddb.WriteNew
	_, err = orders.Drop(ctx, "acme", ddb.Span{}, true, nil)
	fmt.Println(err)
	fmt.Println(sixteen.Count(ctx, "acme", ddb.Span{}))
	// Output:
	// <nil>
	// free: true <nil>
	// <nil>
	// <nil>
	// true <nil>
	// <nil>
	// 2 <nil>
}
