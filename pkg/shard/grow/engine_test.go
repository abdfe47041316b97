package grow_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/grow"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// oneAttempt is a Grower that ends a call's context after its first attempt.
type oneAttempt struct {
	*grow.Grower
	end context.CancelFunc
}

func (o *oneAttempt) ObserveAttempt(ctx context.Context, a shard.Attempt) {
	o.Grower.ObserveAttempt(ctx, a)
	o.end()
}

// TestGrowthOnTheEngine checks that N grows until 50 puts in a row are accepted, and that a new reader finds exactly the
// accepted items. One customer gets 100 items a second with one attempt each. A limiter has 64 partitions of 10 WCU/s.
func TestGrowthOnTheEngine(t *testing.T) {
	for name, layout := range map[string]table.Layout{
		"a random suffix":     table.RandomSuffix{},
		"a calculated suffix": table.CalculatedSuffix{By: "order", Time: table.SortTime("placed", shard.Millis)},
	} {
		t.Run(name, func(t *testing.T) {
			d, now := libtest.Deploy(t), libtest.Later
			clock := func() time.Time { return now }
			client, _ := d.Limited(t, throttle.Options{Partitions: 64, PartitionWCU: 10, Burst: time.Second, Now: clock})
			changer := d.Changer(shardmap.ChangerOptions{})
			grower, err := grow.New(changer, grow.Options{Logger: slog.New(slog.DiscardHandler), Clock: clock, Partitions: func(string) int { return 64 }})
			if err != nil {
				t.Fatal(err)
			}
			observer := &oneAttempt{Grower: grower}
			orders := table.Table{
				Client: client, Name: libtest.Theirs(t, d.Client, "S"), PartitionKey: "customer", SortKey: "placed",
				Shards: changer, Layout: layout, Observer: observer,
			}
			accepted := map[string]bool{}
			for row := 0; row < 50; row++ {
				if now = now.Add(10 * time.Millisecond); now.Sub(libtest.Later) > time.Minute {
					t.Fatalf("still throttled after a minute and %d accepted puts", len(accepted))
				}
				var ctx context.Context
				ctx, observer.end = context.WithCancel(libtest.Within(t))
				id := fmt.Sprint("order-", now.UnixMilli())
				err := orders.Put(ctx, table.Item{
					"customer": dynamo.String("acme"), "placed": dynamo.String(shard.Millis.Key(now, "#", id)), "order": dynamo.String(id),
				}, now)
				if err == nil {
					accepted[id] = true
				} else {
					row = 0
				}
			}
			all := len(accepted)
			orders.Client, orders.Shards = d.Client, shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})
			for it, err := range orders.Query(libtest.Within(t), "acme", table.Span{Consistent: true}, now) {
				if err != nil {
					t.Fatal(err)
				}
				if id := libtest.Text(it["order"]); !accepted[id] {
					t.Errorf("item %s was not accepted, or was read twice", id)
				} else {
					delete(accepted, id)
				}
			}
			entry, err := changer.Read(t.Context(), "acme")
			if len(accepted) > 0 || err != nil || entry.Most() < 16 {
				t.Errorf("%d of %d accepted items are lost; N %v, %v; want no loss and at least 16", len(accepted), all, entry.History, err)
			}
		})
	}
}
