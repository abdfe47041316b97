package ddb_test

import (
	"context"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// A session that is put again is renewed. One that has ended is not counted, however
// late TTL removes its item.
func ExampleSessions() {
	ctx, now := context.Background(), time.Now()
	client := exampleTables()
	shards := ddb.NewMap(client, "hotshard-shard-map")
	sessions := ddb.NewSessions(client, "hotshard-items", shards, ddb.Unwatched{})
	var ends time.Time
	for _, id := range []string{"u-17", "u-42", "u-17"} {
		one, err := sessions.Put(ctx, ddb.Lease{Group: "shop", ID: id, TTL: 30 * time.Minute}, now)
		if err != nil {
			fmt.Println(err)
		}
		ends = one.Ends
	}
	fmt.Println(sessions.Active(ctx, "shop", now))
	fmt.Println(sessions.End(ctx, "shop", "u-42", now))
	fmt.Println(sessions.Active(ctx, "shop", now))
	fmt.Println(sessions.Active(ctx, "shop", ends))
	// Output:
	// 2 <nil>
	// <nil>
	// 1 <nil>
	// 0 <nil>
}

// Never are more than Max hits of a window allowed, by however many processes.
func ExampleLimiter() {
	ctx := context.Background()
	client := exampleTables()
	limiter := ddb.NewLimiter(client, "hotshard-items", ddb.NewMap(client, "hotshard-shard-map"), ddb.Unwatched{}, ddb.LimiterOptions{})
	login := ddb.Limit{Key: "login/ann", Max: 2, Window: time.Minute}
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
