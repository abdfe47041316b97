// Package counters keeps counters that are spread over write shards. A [Writer] adds to them, a [Reader] sums them by
// strongly consistent reads, and [Summaries] reads write shard 0 and the aggregator's summary of the others:
//
//	shards := shardmap.New(client, "hotshard-shard-map", shardmap.Options{})
//	writer := counters.NewWriter(client, "hotshard-items", shards, counters.Options{})
//	err := writer.Add(ctx, "page/home", 1, time.Now())
//	sum, err := counters.NewReader(client, "hotshard-items", shards).Sum(ctx, "page/home")
package counters
