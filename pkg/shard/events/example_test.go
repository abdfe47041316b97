package events_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// A sensor stores its readings, and repeats all of them after a lost response: each is one event. A range that includes
// midnight is read in order of time.
func Example() {
	ctx, midnight := context.Background(), time.Date(2026, 1, 6, 0, 0, 0, 0, time.UTC)
	client := libtest.ExampleTables()
	shards := shardmap.New(client, "hotshard-shard-map", shardmap.Options{})
	writer := events.NewWriter(client, "hotshard-events", shards, events.Options{})
	readings := []events.Event{
		{Entity: "sensor-1", ID: "r-1", Time: midnight.Add(-2 * time.Minute), Data: celsius("22")},
		{Entity: "sensor-1", ID: "r-2", Time: midnight.Add(-time.Minute), Data: celsius("21.5")},
		{Entity: "sensor-1", ID: "r-3", Time: midnight, Data: celsius("21.25")},
	}
	for range 2 {
		fmt.Println(errors.Join(writer.Put(ctx, readings, midnight)...))
	}

	reader := events.NewReader(client, "hotshard-events", shards)
	around := events.Range{Entity: "sensor-1", From: midnight.Add(-time.Minute), To: midnight.Add(time.Minute)}
	page, err := reader.Query(ctx, around, midnight)
	for _, event := range page.Events {
		fmt.Println(event.Time.Format(time.RFC3339), event.ID, libtest.Text(event.Data["celsius"]))
	}
	fmt.Println(err)
	first, err := reader.Get(ctx, "sensor-1", "r-1", readings[0].Time, midnight)
	fmt.Println("r-1 was at", libtest.Text(first.Data["celsius"]), err)
	// Output:
	// <nil>
	// <nil>
	// 2026-01-05T23:59:00Z r-2 21.5
	// 2026-01-06T00:00:00Z r-3 21.25
	// <nil>
	// r-1 was at 22 <nil>
}

func celsius(number string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"celsius": &types.AttributeValueMemberN{Value: number}}
}
