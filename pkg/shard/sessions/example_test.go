package sessions_test

import (
	"context"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// A session that is put again is renewed. An ended session is not counted, even before TTL
// deletes its item.
func Example() {
	ctx, now := context.Background(), time.Now()
	client := libtest.ExampleTables()
	kept := sessions.New(client, "hotshard-items", shardmap.New(client, "hotshard-shard-map", shardmap.Options{}), sessions.Options{})
	var ends time.Time
	for _, id := range []string{"u-17", "u-42", "u-17"} {
		one, err := kept.Put(ctx, sessions.Lease{Group: "shop", ID: id, TTL: 30 * time.Minute}, now)
		if err != nil {
			fmt.Println(err)
		}
		ends = one.Ends
	}
	fmt.Println(kept.Active(ctx, "shop", now))
	fmt.Println(kept.End(ctx, "shop", "u-42", now))
	fmt.Println(kept.Active(ctx, "shop", now))
	fmt.Println(kept.Active(ctx, "shop", ends))
	// Output:
	// 2 <nil>
	// <nil>
	// 1 <nil>
	// 0 <nil>
}
