package events_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Puts two events and streams them in order of time.
func ExampleReader_All() {
	ctx, noon := context.Background(), time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	client := libtest.ExampleTables()
	shards := shardmap.New(client, "hotshard-shard-map", shardmap.Options{})
	writer := events.NewWriter(client, "hotshard-events", shards, events.Options{})
	fmt.Println(errors.Join(writer.Put(ctx, []events.Event{
		{Entity: "sensor-1", ID: "b", Time: noon.Add(time.Second)}, {Entity: "sensor-1", ID: "a", Time: noon},
	}, noon)...))
	reader := events.NewReader(client, "hotshard-events", shards)
	for event, err := range reader.All(ctx, events.Range{Entity: "sensor-1", From: noon, To: noon.Add(time.Hour), Limit: 100}, noon) {
		fmt.Println(event.ID, event.Time.Format(time.TimeOnly), err)
	}
	// Output:
	// <nil>
	// a 12:00:00 <nil>
	// b 12:00:01 <nil>
}
