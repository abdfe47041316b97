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

// TestAPlainNameGrowsOnceItsKeysAreFree storms a name of a PlainFirst table on DynamoDB Local, by the test's clock. The
// growth is refused while an item that the shard map does not know is in the way, and then made; all items are found.
func TestAPlainNameGrowsOnceItsKeysAreFree(t *testing.T) {
	d, now := libtest.Deploy(t), libtest.Later
	clock := func() time.Time { return now }
	client, _ := d.Limited(t, throttle.Options{Partitions: 64, PartitionWCU: 10, Burst: time.Second, Now: clock})
	changer, said := d.Changer(shardmap.ChangerOptions{}), &bytes.Buffer{}
	grower, err := grow.New(changer, grow.Options{Logger: slog.New(slog.NewTextHandler(said, nil)), Clock: clock, Partitions: func(string) int { return 64 }})
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
				t.Fatalf("after %d accepted puts the log is\n%s", accepted, said)
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
		return strings.Contains(said.String(), "growth refused") && strings.Contains(said.String(), "in_the_way=acme#SHARD_5")
	})
	if strings.Contains(said.String(), "msg=grown") {
		t.Fatalf("it grew over an item:\n%s", said)
	}
	if _, err := d.Client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &orders.Name, Key: stray}); err != nil {
		t.Fatal(err)
	}
	storm(func() bool { return strings.Contains(said.String(), "msg=grown key=orders/acme") })
	begin := now
	storm(func() bool { return now.Sub(begin) > 8*time.Second })
	n, err := orders.Count(t.Context(), "acme", table.Span{Consistent: true}, now)
	if err != nil || n != accepted {
		t.Errorf("%d items, %v; %d puts were accepted", n, err, accepted)
	}
	plain := orders
	plain.Shards, plain.Layout = table.Fixed(1), table.CalculatedSuffix{}
	if plainly, err := plain.Count(t.Context(), "acme", table.Span{Consistent: true}, now); err != nil || plainly == 0 || plainly == n {
		t.Errorf("%d of %d items are under the plain name, %v", plainly, n, err)
	}
}
