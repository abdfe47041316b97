// Package dynamo has the helpers that all calls of DynamoDB share: kinds of errors and scopes of
// throttles, retries, batches, attributes of items, caches, and reading and merging pages:
//
//	err := dynamo.Persist(ctx, func(ctx context.Context) error {
//		_, err := client.PutItem(ctx, input, dynamo.NoRetry)
//		return err
//	})
//
// Retries are this package's own, because a throttled write may succeed on another write shard.
// The SDK's retries are off. A call makes up to 12 attempts within some 7 s, not counting the
// attempts' own time, and fewer if the context's deadline comes first.
//
// A [Scanner] scans whole tables at a bounded rate.
package dynamo
