package grow_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

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

// TestPlainNameGrowsWhenKeysAreFree storms a name of a PlainFirst table on the engine, by the test's clock. The name grows
// only after a foreign item under a new write shard's key was deleted, and all accepted items are read.
func TestPlainNameGrowsWhenKeysAreFree(t *testing.T) {
	d, now := libtest.Deploy(t), libtest.Later
	clock := func() time.Time { return now }
	client, _ := d.Limited(t, throttle.Options{Partitions: 64, PartitionWCU: 10, Burst: time.Second, Now: clock})
	changer, log := d.Changer(shardmap.ChangerOptions{}), &bytes.Buffer{}
	grower, err := grow.New(changer, grow.Options{Logger: slog.New(slog.NewTextHandler(log, nil)), Clock: clock, Partitions: func(string) int { return 64 }})
	if err != nil {
		t.Fatal(err)
	}
	observer := &oneAttempt{Grower: grower}
	orders := table.Table{
		Client: client, Name: libtest.Theirs(t, d.Client, "S"), PartitionKey: "customer", SortKey: "placed",
		Shards: table.Namespace{Prefix: "orders/", Counts: changer}, Observer: observer,
		Layout: table.CalculatedSuffix{Time: table.SortTime("placed", shard.Millis)},
		Format: shard.HashShard, PlainFirst: true,
	}
	stray := table.Item{"customer": libtest.Str("acme#SHARD_5"), "placed": libtest.Str("not hotshard's")}
	if _, err := d.Client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &orders.Name, Item: stray}); err != nil {
		t.Fatal(err)
	}
	accepted := 0
	storm := func(until func() bool) {
		for end := now.Add(time.Minute); !until(); now = now.Add(10 * time.Millisecond) {
			if now.After(end) {
				t.Fatalf("no such log line in a minute, after %d accepted puts:\n%s", accepted, log)
			}
			var ctx context.Context
			ctx, observer.end = context.WithCancel(libtest.Within(t))
			id := fmt.Sprint("order-", now.UnixMilli())
			if orders.Put(ctx, table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str(shard.Millis.Key(now, "#", id))}, now) == nil {
				accepted++
			}
		}
	}
	storm(func() bool {
		return strings.Contains(log.String(), "growth refused") && strings.Contains(log.String(), "in_the_way=acme#SHARD_5")
	})
	if strings.Contains(log.String(), "msg=grown") {
		t.Fatalf("the name grew over a foreign item:\n%s", log)
	}
	if _, err := d.Client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &orders.Name, Key: stray}); err != nil {
		t.Fatal(err)
	}
	storm(func() bool { return strings.Contains(log.String(), "msg=grown key=orders/acme") })
	begin := now
	storm(func() bool { return now.Sub(begin) > 8*time.Second })
	n, err := orders.Count(t.Context(), "acme", table.Span{Consistent: true}, now)
	if err != nil || n != accepted {
		t.Errorf("counted %d items, %v; want %d accepted", n, err, accepted)
	}
	plain := orders
	plain.Shards, plain.Layout = table.Fixed(1), table.CalculatedSuffix{}
	if under, err := plain.Count(t.Context(), "acme", table.Span{Consistent: true}, now); err != nil || under == 0 || under == n {
		t.Errorf("%d of %d items are under the plain key, %v; want some, not all", under, n, err)
	}
}
