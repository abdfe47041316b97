// Package ddb writes and reads sharded items in DynamoDB: counters, events,
// leaderboards, sessions and rate limits whose write shards follow a shard map that
// many processes share.
//
//	shards := ddb.NewMap(client, "hotshard-shard-map")
//	writer := ddb.NewCounterWriter(client, "hotshard-items", shards)
//	err := writer.Add(ctx, "page/home", 1, time.Now())
//	reader := ddb.NewCounterReader(client, "hotshard-items", shards)
//	total, err := reader.Sum(ctx, "page/home")
//
// Every type asks for the few DynamoDB operations that it calls, and is safe for
// concurrent use. Time is always a value that the caller gives, so that one
// request has one now.
//
// Retries are this package's own, within the context's deadline, because a
// throttled write may do better on another write shard: clients given to it are
// called with the SDK's retries off.
package ddb
