// Package once applies calls that carry a key of the caller's once, however often they are
// sent:
//
//	shards := shardmap.New(client, "hotshard-shard-map", shardmap.Options{})
//	calls := once.New(client, "hotshard-items", shards, once.Options{})
//	call := once.Call{Key: "order-1234", Digest: digest, Answer: []byte("accepted")}
//	before, err := calls.Do(ctx, call, now, func(ctx context.Context) ([]types.TransactWriteItem, error) {
//		return []types.TransactWriteItem{writer.AddTransact(ctx, "orders", 1, time.Now())}, nil
//	})
//
// The other packages' methods that end in Transact make such actions.
package once
