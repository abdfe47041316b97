// Package limits counts hits against rate limits, over all processes. See [Limiter].
//
//	shards := shardmap.New(client, "hotshard-shard-map", shardmap.Options{})
//	limiter := limits.New(client, "hotshard-items", shards, limits.Options{})
//	v, err := limiter.Hit(ctx, limits.Limit{Key: "login/ann", Max: 5, Window: time.Minute}, now)
//	if err == nil && !v.Allowed {
//		wait(v.Resets)
//	}
package limits
