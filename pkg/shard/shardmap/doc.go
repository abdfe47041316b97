// Package shardmap stores the shard count of every base key, as a function of time, in a table
// that many programs share. A [Map] is a program's view of it, and a [Changer] changes it:
//
//	shards := shardmap.New(client, "hotshard-shard-map", shardmap.Options{})
//	entry, err := shards.Lookup(ctx, "E#sensor-1", time.Now())
//	n := entry.History.At(time.Now()) // for an event at now; counters use Map.Newest
//
// Writers report their attempts to a [shard.Observer], which may raise a hot key's count. A [Write]
// is one write of a transaction, with the attempt that the observer receives.
package shardmap
