package once_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// A sender repeats an order after lost responses. It counts once, and another order with its key is rejected.
func Example() {
	ctx, now := context.Background(), time.Now()
	client := libtest.ExampleTables()
	shards := shardmap.New(client, "hotshard-shard-map", shardmap.Options{})
	calls := once.New(client, "hotshard-items", once.Options{})
	writer := counters.NewWriter(client, "hotshard-items", shards, counters.Options{})
	for _, body := range []string{"a book", "a book", "two books"} {
		digest := sha256.Sum256([]byte(body))
		call := once.Call{Key: "order-1234", Digest: digest[:], Answer: []byte("accepted")}
		before, err := calls.Do(ctx, call, now, func(ctx context.Context) ([]shardmap.Write, error) {
			return []shardmap.Write{writer.AddTransact(ctx, "orders", 1, now)}, nil
		})
		switch {
		case errors.Is(err, once.ErrOtherCall):
			fmt.Println("rejected:", once.ErrOtherCall)
		case before != nil:
			fmt.Printf("%s before, %v\n", before, err)
		default:
			fmt.Printf("%s, %v\n", call.Answer, err)
		}
	}
	sum, err := counters.NewReader(client, "hotshard-items", shards).Sum(ctx, "orders")
	fmt.Println(sum.Value, err)
	// Output:
	// accepted, <nil>
	// accepted before, <nil>
	// rejected: the key was used for a call with another digest: use a new key for a new call
	// 1 <nil>
}
