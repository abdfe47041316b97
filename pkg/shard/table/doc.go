// Package table spreads the items of any table with a partition and a sort key over write
// shards. The items keep their shape: where the partition key attribute holds "acme",
// DynamoDB stores "acme#7", and reads give "acme" back, merged in the order of the
// sort keys:
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
// The [Layout] is the pattern: [RandomSuffix], [CalculatedSuffix], [TimeBuckets] or
// [HybridBuckets]; docs/patterns.md says what each costs and when to use it. The count
// is [Fixed], or a [shardmap.Map] that many programs share; [AtLeast] leads from the one to the
// other. A [Tally] is a counter. Package migrate changes layout, format or count while
// programs run.
//
// A Table is safe for concurrent use; fields are not to be changed after the
// first call. Calls for one read have at most 16 requests under way and leave no goroutine
// behind. Errors say the operation and the key, unwrap to the SDK's, and are of the kinds of
// package shard.
package table
