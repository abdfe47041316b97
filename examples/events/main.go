// Command events stores the readings of a sensor, and reads those around midnight. A repeated reading is the same
// event:
//
//	2026-01-05T23:59:00Z r-2 21.5
//	2026-01-06T00:00:00Z r-3 21.25
//	r-1 was at 22
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/setup"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

func main() {
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := storeAndRead(ctx, dynamodb.NewFromConfig(cfg, quiet)); err != nil {
		log.Fatal(err)
	}
}

func storeAndRead(ctx context.Context, client *dynamodb.Client) error {
	names := setup.WithPrefix("examples-")
	if err := setup.Create(ctx, client, names); err != nil {
		return err
	}
	shards := shardmap.New(client, names.ShardMap, shardmap.Options{})
	writer := events.NewWriter(client, names.Events, shards, events.Options{})
	reader := events.NewReader(client, names.Events, shards)

	midnight := time.Date(2026, 1, 6, 0, 0, 0, 0, time.UTC)
	readings := []events.Event{
		reading("r-1", midnight.Add(-2*time.Minute), "22"),
		reading("r-2", midnight.Add(-time.Minute), "21.5"),
		reading("r-3", midnight, "21.25"),
	}
	for range 2 { // the sensor got no response, and repeats all
		if err := errors.Join(writer.Put(ctx, readings, time.Now())...); err != nil {
			return err
		}
	}

	around := events.Range{Entity: "sensor-1", From: midnight.Add(-time.Minute), To: midnight.Add(time.Minute)}
	for event, err := range reader.All(ctx, around, time.Now()) {
		if err != nil {
			return err
		}
		fmt.Println(event.Time.Format(time.RFC3339), event.ID, celsius(event))
	}

	first, err := reader.Get(ctx, "sensor-1", "r-1", readings[0].Time, time.Now())
	if err != nil {
		return err
	}
	fmt.Println("r-1 was at", celsius(first))
	return nil
}

func reading(id string, at time.Time, celsius string) events.Event {
	return events.Event{Entity: "sensor-1", ID: id, Time: at, Data: map[string]types.AttributeValue{
		"celsius": &types.AttributeValueMemberN{Value: celsius},
	}}
}

func celsius(e events.Event) string {
	number, ok := e.Data["celsius"].(*types.AttributeValueMemberN)
	if !ok {
		return "no temperature"
	}
	return number.Value
}

// quiet prevents a warning for each error of DynamoDB Local, which sends no checksum with errors.
func quiet(o *dynamodb.Options) { o.DisableValidateResponseChecksum = true }
