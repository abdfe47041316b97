// Package shardmap has the shard count of every base key, as a function of time, in a table
// that many programs share. A [Map] is a program's view of it, and a [Changer] changes it:
//
//	shards := shardmap.New(client, "hotshard-shard-map", shardmap.Options{})
//	entry, err := shards.Lookup(ctx, "E#sensor-1", time.Now())
//	n := entry.History.At(time.Now()) // of an event of now; counters go by Newest
//
// Writers tell a [Watcher] how their keys fare, so that it can have a hot key's count raised.
package shardmap
