// Package grow adds write shards to a key whose writes are throttled, without anybody's help:
//
//	shards := shardmap.New(client, "orders-shard-map", shardmap.Options{})
//	changer := shardmap.NewChanger(client, shards, shardmap.ChangerOptions{})
//	grower, err := grow.New(changer, grow.Options{}) // Observe: true only logs
//	orders := table.Table{
//		Client: client, Name: "orders", PartitionKey: "customer", SortKey: "placed",
//		Shards: shards, Observer: grower,
//		Layout: table.CalculatedSuffix{By: "order", Time: table.SortTime("placed", shard.Millis)},
//		Format: shard.HashShard, PlainFirst: true, // a table that had no write shards: docs/adopt.md
//	}
//
// A [Grower] needs no process of its own: it works within the writes that it observes. A Lambda
// function has one for each instance, a service for each process, and they share nothing but the
// shard map. Only one of them makes a change. The write that is throttled waits for it, up to a second.
//
// Before a name of a PlainFirst table grows, the Grower reads the partition keys of the new write shards.
// If one has items, it refuses the growth and logs the key. Begin with Observe: programs that only know the
// plain name miss what is on other write shards.
//
// Quiet keys cost nothing. A key that is throttled costs its process a read of the shard map every
// 0.3 to 5 s, and each change 10 write units. Counts never shrink.
package grow
