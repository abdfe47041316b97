// Package once applies a call with an idempotency key exactly once, however often it is sent:
//
//	shards := shardmap.New(client, "hotshard-shard-map", shardmap.Options{})
//	writer := counters.NewWriter(client, "hotshard-items", shards, counters.Options{})
//	calls := once.New(client, "hotshard-items", once.Options{})
//	call := once.Call{Key: "order-1234", Digest: digest, Answer: []byte("accepted")}
//	before, err := calls.Do(ctx, call, now, func(ctx context.Context) ([]shardmap.Write, error) {
//		return []shardmap.Write{writer.AddTransact(ctx, "orders", 1, time.Now())}, nil
//	})
//
// The other packages' methods that end in Transact return such writes.
package once
