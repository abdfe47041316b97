package migrate_test

import (
	"context"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/migrate"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// A table grows from four write shards to sixteen while programs run. Each phase is a deployment. The new write shards
// need another format, since they are in the same table.
func ExampleMigration() {
	ctx, now := context.Background(), time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	client := libtest.ExampleTable("orders", "customer", "placed")
	four := table.Table{
		Client: client, Name: "orders", PartitionKey: "customer", SortKey: "placed",
		Shards: table.Fixed(4), Layout: table.CalculatedSuffix{},
	}
	sixteen := four
	sixteen.Shards, sixteen.Format = table.Fixed(16), shard.Underscore
	fmt.Println(four.Put(ctx, table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str("long ago")}, now))

	orders := migrate.Migration{Client: client, From: &four, To: &sixteen}
	same, err := orders.Verify(ctx, "acme", table.Span{}, now)
	fmt.Println("free:", same.Equal(), err)

	orders.Phase = migrate.WriteBoth
	fmt.Println(orders.Put(ctx, table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str("now")}, now))
	_, err = orders.Copy(ctx, "acme", table.Span{}, now, nil)
	fmt.Println(err)

	orders.Phase = migrate.ReadNew
	same, err = orders.Verify(ctx, "acme", table.Span{}, now)
	fmt.Println(same.Equal(), err)

	orders.Phase = migrate.WriteNew
	_, err = orders.DropAll(ctx, "acme", table.Span{}, now, nil)
	fmt.Println(err)
	fmt.Println(sixteen.Count(ctx, "acme", table.Span{}, now))
	// Output:
	// <nil>
	// free: true <nil>
	// <nil>
	// <nil>
	// true <nil>
	// <nil>
	// 2 <nil>
}
