package ddb_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/local/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// exampleTables makes tables of hotshard's form.
func exampleTables() *dynamodb.Client {
	ctx, client := context.Background(), enginetest.ForExamples()
	for _, table := range ddb.TableInputs("hotshard-") {
		if _, err := client.CreateTable(ctx, table); err != nil {
			panic(err)
		}
	}
	for _, expiry := range ddb.ExpiryInputs("hotshard-") { // at AWS, once they are active
		if _, err := client.UpdateTimeToLive(ctx, expiry); err != nil {
			panic(err)
		}
	}
	return client
}

// The tables of hotshard's form, in a program that makes them itself.
func ExampleTableInputs() {
	for _, table := range ddb.TableInputs("hotshard-") {
		var keys []string
		for _, key := range table.KeySchema {
			keys = append(keys, *key.AttributeName)
		}
		for _, index := range table.GlobalSecondaryIndexes {
			keys = append(keys, *index.IndexName)
		}
		fmt.Println(*table.TableName, keys)
	}
	for _, expiry := range ddb.ExpiryInputs("hotshard-") {
		fmt.Println(*expiry.TableName, *expiry.TimeToLiveSpecification.AttributeName)
	}
	// Output:
	// hotshard-items [pk sk by_rank by_group]
	// hotshard-rollups [pk sk]
	// hotshard-shard-map [pk sk]
	// hotshard-heat [pk sk]
	// hotshard-items expires_at
	// hotshard-rollups expires_at
	// hotshard-shard-map expires_at
	// hotshard-heat expires_at
}

// Many programs share the shard counts of a map; a change is known to all within
// seconds, and old items stay where they are.
func ExampleMap() {
	ctx, now := context.Background(), time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	client := exampleTables()
	shards := ddb.NewMap(client, "hotshard-shard-map")
	orders := ddb.Table{
		Client: client, Name: "hotshard-items", PartitionKey: "pk", SortKey: "sk",
		Shards: ddb.Namespace{Prefix: "orders/", Counts: shards}, Layout: ddb.RandomSuffix{},
		Now: func() time.Time { return now },
	}
	fmt.Println(orders.Put(ctx, ddb.Item{"pk": str("acme"), "sk": str("before")}))
	changer := patient(ddb.NewMapChanger(client, shards, ddb.ChangerOptions{}))
	entry, err := changer.Pin(ctx, "orders/acme", 20, ddb.Note{By: "me", Why: "a sale"}, now)
	fmt.Println(entry.History.Newest(), err)
	now = entry.Effective() // LeadTime later: all programs know of it by then
	fmt.Println(orders.Put(ctx, ddb.Item{"pk": str("acme"), "sk": str("with twenty")}))
	fmt.Println(orders.Count(ctx, "acme", ddb.Span{}))
	// Output:
	// <nil>
	// 20 <nil>
	// <nil>
	// 2 <nil>
}

// A table of ten write shards goes over to a map, which knows nothing of its names yet:
// what is there is found, and one name is given more.
func ExampleAtLeast() {
	ctx, now := context.Background(), time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	client := exampleTables()
	orders := ddb.Table{
		Client: client, Name: "hotshard-items", PartitionKey: "pk", SortKey: "sk",
		Shards: ddb.Fixed(10), Layout: ddb.TimeBuckets{Bucket: shard.Day, By: "sk"}, Now: func() time.Time { return now },
	}
	old := ddb.Item{"pk": str("acme"), "sk": str(shard.Millis.Key(now, "#", "order-1"))}
	fmt.Println(orders.Put(ctx, old))

	shards := ddb.NewMap(client, "hotshard-shard-map")
	orders.Shards = ddb.AtLeast{N: 10, Counts: ddb.Namespace{Prefix: "orders/", Counts: shards}} // deployed everywhere

	entry, err := patient(ddb.NewMapChanger(client, shards, ddb.ChangerOptions{})).Pin(ctx, "orders/acme", 40, ddb.Note{By: "me"}, now)
	fmt.Println(entry.History.Newest(), err)
	now = entry.Effective().Add(time.Minute)
	fmt.Println(orders.Put(ctx, ddb.Item{"pk": str("acme"), "sk": str(shard.Millis.Key(now, "#", "order-2"))}))
	fmt.Println(orders.Count(ctx, "acme", ddb.During(shard.Millis, now.Add(-time.Hour), now.Add(time.Hour))))
	_, err = orders.Get(ctx, old)
	fmt.Println(err)
	// Output:
	// <nil>
	// 40 <nil>
	// <nil>
	// 2 <nil>
	// <nil>
}

// Counters of hotshard's form: a sum reads all write shards, consistently.
func ExampleCounterWriter() {
	ctx, now := context.Background(), time.Now()
	client := exampleTables()
	shards := ddb.NewMap(client, "hotshard-shard-map")
	writer := ddb.NewCounterWriter(client, "hotshard-items", shards, ddb.Unwatched{})
	for range 5 {
		if err := writer.Add(ctx, "page/home", 2, now); err != nil {
			fmt.Println(err)
		}
	}
	sum, err := ddb.NewCounterReader(client, "hotshard-items", shards).Sum(ctx, "page/home")
	fmt.Println(sum.Value, sum.Shards, err)
	// Output: 10 1 <nil>
}

// Events of hotshard's form, as a stream.
func ExampleEventReader_All() {
	ctx, noon := context.Background(), time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	client := exampleTables()
	shards := ddb.NewMap(client, "hotshard-shard-map")
	writer := ddb.NewEventWriter(client, "hotshard-items", shards, 0, ddb.Unwatched{})
	fmt.Println(errors.Join(writer.Put(ctx, []ddb.Event{
		{Entity: "sensor-1", ID: "b", Time: noon.Add(time.Second)}, {Entity: "sensor-1", ID: "a", Time: noon},
	}, noon)...))
	reader := ddb.NewEventReader(client, "hotshard-items", shards)
	for event, err := range reader.All(ctx, ddb.Range{Entity: "sensor-1", From: noon, To: noon.Add(time.Hour), Limit: 100}, noon) {
		fmt.Println(event.ID, event.Time.Format(time.TimeOnly), err)
	}
	// Output:
	// <nil>
	// a 12:00:00 <nil>
	// b 12:00:01 <nil>
}

// A board of hotshard's form: the first places and a player's.
func ExampleLeaderboards() {
	ctx, now := context.Background(), time.Now()
	client := exampleTables()
	shards := ddb.NewMap(client, "hotshard-shard-map")
	boards := ddb.NewLeaderboards(client, "hotshard-items", shards, ddb.Unwatched{}, 0)
	var scores []ddb.PlayerScore
	for player, points := range map[string]string{"ann": "12.5", "bob": "9", "cid": "31"} {
		score, err := ddb.ParseScore(points)
		if err != nil {
			fmt.Println(err)
		}
		scores = append(scores, ddb.PlayerScore{Player: player, Score: score})
	}
	fmt.Println(errors.Join(boards.Submit(ctx, "game/1", scores, now)...))
	first, err := boards.Top(ctx, "game/1", ddb.AllTime.Label(now), 2, now)
	for _, place := range first {
		fmt.Println(place.Player, place.Score, err)
	}
	// Output:
	// <nil>
	// cid 31 <nil>
	// ann 12.5 <nil>
}
