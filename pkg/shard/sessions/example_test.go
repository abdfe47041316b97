package sessions_test

import (
	"context"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/wingtest"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// A session that is put again is renewed. One that has ended is not counted, however
// late TTL removes its item.
func ExampleSessions() {
	ctx, now := context.Background(), time.Now()
	client := wingtest.ExampleTables()
	shards := shardmap.New(client, "hotshard-shard-map", shardmap.Options{})
	store := sessions.New(client, "hotshard-items", shards, sessions.Options{})
	var ends time.Time
	for _, id := range []string{"u-17", "u-42", "u-17"} {
		one, err := store.Put(ctx, sessions.Lease{Group: "shop", ID: id, TTL: 30 * time.Minute}, now)
		if err != nil {
			fmt.Println(err)
		}
		ends = one.Ends
	}
	fmt.Println(store.Active(ctx, "shop", now))
	fmt.Println(store.End(ctx, "shop", "u-42", now))
	fmt.Println(store.Active(ctx, "shop", now))
	fmt.Println(store.Active(ctx, "shop", ends))
	// Output:
	// 2 <nil>
	// <nil>
	// 1 <nil>
	// 0 <nil>
}
