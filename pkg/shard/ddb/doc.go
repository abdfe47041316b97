// Package ddb writes and reads sharded items in DynamoDB. It has two halves.
//
// # Your own table
//
// [Table] spreads the items of any table with a partition and a sort key over write
// shards. The items keep their shape: where the partition key attribute holds "acme",
// DynamoDB stores "acme#7", and reads give "acme" back, merged in the order of the
// sort keys:
//
//	orders := ddb.Table{
//		Client: client, Name: "orders", PartitionKey: "customer", SortKey: "placed",
//		Shards: ddb.Fixed(10), Layout: ddb.RandomSuffix{},
//	}
//	err := orders.Put(ctx, item)
//	for item, err := range orders.Query(ctx, "acme", ddb.Span{}) {
//		...
//	}
//
// The [Layout] is the pattern: [RandomSuffix], [CalculatedSuffix], [TimeBuckets] or
// [HybridBuckets]; docs/patterns.md says what each costs and when to use it. The count
// is [Fixed], or a [Map] that many programs share; [AtLeast] leads from the one to the
// other. [Migration] changes layout, format or count while programs run. [Tally] is a
// counter.
//
// # hotshard's tables
//
// Counters, events, leaderboards, rate limits and, in package sessions, sessions live in
// tables of hotshard's form, where a Lambda function raises their shard counts and another folds them into summaries. They can
// be used without both; [TableInputs] makes the tables:
//
//	shards := ddb.NewMap(client, "hotshard-shard-map")
//	writer := ddb.NewCounterWriter(client, "hotshard-items", shards, ddb.Unwatched{})
//	err := writer.Add(ctx, "page/home", 1, time.Now())
//	reader := ddb.NewCounterReader(client, "hotshard-items", shards)
//	sum, err := reader.Sum(ctx, "page/home")
//
// Here time is a value that the caller gives, so that one request has one now; a
// Table has a clock.
//
// # Both
//
// Every type asks for the few DynamoDB operations that it calls, and is safe for
// concurrent use; fields are not to be changed after the first call. Calls for one
// read have at most 16 requests under way and leave no goroutine behind, but that a
// [Map] goes on renewing its view for [RenewTime] at most.
//
// Retries are this package's own, because a
// throttled write may do better on another write shard: clients given to it are
// called with the SDK's retries off. A call makes up to 12 attempts, which takes some
// 7 s beside their own time, and fewer where the context's deadline comes first. Errors say the operation and the key, and unwrap
// to the SDK's; [Kind] tells kinds apart.
package ddb
