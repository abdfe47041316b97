// Package dynamo is what everything here that calls DynamoDB shares: interfaces of one
// operation each, the kinds of error and the scopes of throttles, retries, batches, and
// reading and merging pages:
//
//	err := dynamo.Persist(ctx, func(ctx context.Context) error {
//		_, err := client.PutItem(ctx, input, dynamo.NoRetry)
//		return err
//	})
//
// Retries are this package's own, because a throttled write may do better on another write
// shard: clients are called with the SDK's retries off. A call makes up to 12 attempts, which
// takes some 7 s beside their own time, and fewer where the context's deadline comes first.
package dynamo
