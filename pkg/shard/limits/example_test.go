package limits_test

import (
	"context"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/limits"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Never are more than Max hits of a window allowed, by however many processes.
func ExampleLimiter() {
	ctx := context.Background()
	client := libtest.ExampleTables()
	limiter := limits.New(client, "hotshard-items", shardmap.New(client, "hotshard-shard-map", shardmap.Options{}), limits.Options{})
	login := limits.Limit{Key: "login/ann", Max: 2, Window: time.Minute}
	now := limiter.Start(login, time.Now())
	for range 3 {
		v, err := limiter.Hit(ctx, login, now)
		fmt.Println(v.Allowed, v.Used, v.Resets.Sub(now), err)
	}
	// Output:
	// true 1 1m0s <nil>
	// true 2 1m0s <nil>
	// false 2 1m0s <nil>
}
