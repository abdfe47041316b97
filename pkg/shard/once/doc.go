// Package once applies calls that carry a key of the caller's once, however often they are
// sent:
//
//	calls := once.New(client, "hotshard-items", shards, once.Options{})
//	before, err := calls.Do(ctx, once.Call{Key: key, Digest: digest}, now, actions)
package once
