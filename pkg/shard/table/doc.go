// Package table spreads the items of any table with a partition and a sort key over write shards. The items keep their
// shape: where the partition key attribute holds "acme", DynamoDB stores "acme#7", and reads give "acme" back, merged
// in the order of the sort keys:
//
//	orders := table.Table{
//		Client: client, Name: "orders", PartitionKey: "customer", SortKey: "placed",
//		Shards: table.Fixed(10), Layout: table.RandomSuffix{},
//	}
//	err := orders.Put(ctx, item, now)
//	for item, err := range orders.Query(ctx, "acme", table.Span{}, now) {
//		...
//	}
//
// The [Layout] is the sharding pattern: [RandomSuffix], [CalculatedSuffix], [TimeBuckets] or
// [HybridBuckets]; docs/patterns.md has the cost of each and when to use it. The count is
// [Fixed], or a [shardmap.Map] that many programs share; [AtLeast] migrates from the first to
// the second. Table.PlainFirst adopts a table as it is: docs/adopt.md. A [Tally] is a counter.
//
// A Table is safe for concurrent use; don't change its fields after the first call. A read has
// at most 16 requests in flight and leaves no goroutine behind. Errors name the operation and
// the key, wrap the SDK's error, and are of the kinds of package shard.
package table
