// Package watching tells a [shardmap.Watcher] what becomes of writes, also of those of
// transactions, whose errors don't say why they were throttled:
//
//	watching.Tell(ctx, watch, shardmap.Attempt{Key: key, Shard: n, At: now}, err, dynamo.KeyRange)
package watching
