// Package events stores time series of entities in one bucket per UTC day, spread over write shards by the events' ids:
//
//	shards := shardmap.New(client, "hotshard-shard-map", shardmap.Options{})
//	writer := events.NewWriter(client, "hotshard-events", shards, events.Options{})
//	errs := writer.Put(ctx, []events.Event{{Entity: "sensor-1", ID: "a", Time: now}}, now)
//	reader := events.NewReader(client, "hotshard-events", shards)
//	page, err := reader.Query(ctx, events.Range{Entity: "sensor-1", From: from, To: to}, now)
package events
