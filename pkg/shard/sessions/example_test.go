package sessions_test

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// A shop knows who is there. A session that is put again is renewed, and keeps its data. It ends when its user leaves, or
// after its TTL, even before DynamoDB deletes its item. Counts and lists read an index, which on AWS is updated a moment
// after a write.
func Example() {
	ctx, now := context.Background(), time.Now()
	client := libtest.ExampleTables()
	shards := shardmap.New(client, "hotshard-shard-map", shardmap.Options{})
	visitors := sessions.New(client, "hotshard-items", shards, sessions.Options{})
	var ends time.Time
	for _, lease := range []sessions.Lease{
		{Group: "shop", ID: "u-17", TTL: 20 * time.Minute, Data: map[string]types.AttributeValue{"cart": libtest.Str("a book")}},
		{Group: "shop", ID: "u-42", TTL: 20 * time.Minute},
		{Group: "shop", ID: "u-17", TTL: 30 * time.Minute},
	} {
		session, err := visitors.Put(ctx, lease, now)
		if err != nil {
			fmt.Println(err)
		}
		ends = session.Ends
	}
	fmt.Println(visitors.Active(ctx, "shop", now))
	fmt.Println(visitors.End(ctx, "shop", "u-42", now))
	for session, err := range visitors.List(ctx, "shop", "", now) {
		fmt.Println(session.ID, err)
	}
	session, err := visitors.Get(ctx, "shop", "u-17", now)
	fmt.Println(libtest.Text(session.Data["cart"]), err)
	fmt.Println(visitors.Active(ctx, "shop", ends))
	// Output:
	// 2 <nil>
	// <nil>
	// u-17 <nil>
	// a book <nil>
	// 0 <nil>
}
