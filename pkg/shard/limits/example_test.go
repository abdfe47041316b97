package limits_test

import (
	"context"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/limits"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// All processes together are allowed at most Max hits in a window.
func ExampleLimiter() {
	ctx := context.Background()
	client := libtest.ExampleTables()
	limiter := limits.New(client, "hotshard-items", shardmap.New(client, "hotshard-shard-map", shardmap.Options{}), limits.Options{})
	login := limits.Limit{Key: "login/ann", Max: 2, Window: time.Minute}
	now := login.Start(time.Now())
	for range 3 {
		v, err := limiter.Hit(ctx, login, now)
		fmt.Println(v.Allowed, v.Used, v.Resets.Sub(now), err)
	}
	// Output:
	// true 1 1m0s <nil>
	// true 2 1m0s <nil>
	// false 2 1m0s <nil>
}

// An export is limited to 100 rows a minute. All rows of a page are allowed, or none.
func ExampleLimiter_HitN() {
	ctx := context.Background()
	client := libtest.ExampleTables()
	limiter := limits.New(client, "hotshard-items", shardmap.New(client, "hotshard-shard-map", shardmap.Options{}), limits.Options{})
	rows := limits.Limit{Key: "export/ann", Max: 100, Window: time.Minute}
	now := rows.Start(time.Now())
	for _, page := range []int64{60, 60, 40} {
		v, err := limiter.HitN(ctx, rows, page, now)
		fmt.Println(v.Allowed, v.Used, v.Remaining, err)
	}
	v, err := limiter.Peek(ctx, rows, now)
	fmt.Println(v.Allowed, v.Used, v.Remaining, err)
	// Output:
	// true 60 40 <nil>
	// false 60 40 <nil>
	// true 100 0 <nil>
	// false 100 0 <nil>
}
