// Package grow adds write shards to a key whose writes are throttled:
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
// A [Grower] needs no process of its own: it works within the writes that it observes. Have one Grower for
// each process or instance of a Lambda function. Growers share only the shard map, and only one of them makes
// a change. The throttled write waits for the change, up to a second.
//
// Before a name of a PlainFirst table grows, the Grower reads the partition keys of the new write shards.
// If a partition key has items, the Grower logs the key and does not grow the name. Begin with Options.Observe:
// programs that only know the plain name miss the items on other write shards.
//
// Quiet keys cost nothing. A key that is throttled costs its process a read of the shard map every
// 0.3 to 5 s, and each change 10 write units. Counts never shrink.
package grow
