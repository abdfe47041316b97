package limits_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/limits"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// A user may try to log in five times a minute, over all processes. Limiters of several processes share only the tables.
func Example() {
	ctx := context.Background()
	client := libtest.ExampleTables()
	var processes []*limits.Limiter
	for range 2 {
		shards := shardmap.New(client, "hotshard-shard-map", shardmap.Options{})
		processes = append(processes, limits.New(client, "hotshard-items", shards, limits.Options{}))
	}
	login := limits.Limit{Key: "login/ann", Max: 5, Window: time.Minute}
	now := login.Start(time.Now())
	var allowed atomic.Int64
	var tries errgroup.Group
	for i := range 20 {
		tries.Go(func() error {
			v, err := processes[i%2].Hit(ctx, login, now)
			if v.Allowed {
				allowed.Add(1)
			}
			return err
		})
	}
	fmt.Println(tries.Wait())
	fmt.Println(allowed.Load(), "of 20 are allowed")
	v, err := processes[0].Hit(ctx, login, now.Add(time.Minute))
	fmt.Println("a minute later:", v.Allowed, v.Remaining, err)
	// Output:
	// <nil>
	// 5 of 20 are allowed
	// a minute later: true 4 <nil>
}

// Calls of a language model are limited to three a day and 1,000 tokens a minute. A call takes the most tokens that it may
// use, and gives back what it didn't use after the model's answer.
func ExampleLimiter_HitAll() {
	ctx := context.Background()
	client := libtest.ExampleTables()
	limiter := limits.New(client, "hotshard-items", shardmap.New(client, "hotshard-shard-map", shardmap.Options{}), limits.Options{})
	calls := limits.Limit{Key: "calls/ann", Max: 3, Window: 24 * time.Hour}
	tokens := limits.Limit{Key: "tokens/ann", Max: 1000, Window: time.Minute}
	const most = 600 // tokens of a call
	now := tokens.Start(time.Now())
	for _, used := range []int64{150, 550, 100} {
		verdicts, err := limiter.HitAll(ctx, []limits.Hits{{Limit: calls, N: 1}, {Limit: tokens, N: most}}, now)
		if err != nil {
			fmt.Println(err)
			return
		}
		if v := verdicts[1]; !v.Allowed {
			fmt.Println("try again in", v.Retry.Sub(now))
			continue
		}
		left, err := limiter.HitN(ctx, tokens, used-most, now)
		fmt.Println(used, "tokens used,", left.Remaining, "left", err)
	}
	back, err := limiter.HitN(ctx, calls, -1, now)
	fmt.Println(back.Remaining, "calls left today", err)
	// Output:
	// 150 tokens used, 850 left <nil>
	// 550 tokens used, 300 left <nil>
	// try again in 1m0s
	// 2 calls left today <nil>
}
