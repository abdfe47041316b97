package migrate_test

import (
	"context"
	"fmt"

	"github.com/hotshard/hotshard/internal/wingtest"
	"github.com/hotshard/hotshard/pkg/shard/migrate"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// From four write shards to sixteen, while programs run. Each phase is a deployment.
func ExampleMigration() {
	ctx, client := context.Background(), wingtest.ExampleTable("orders", "customer", "placed")
	four := table.Table{
		Client: client, Name: "orders", PartitionKey: "customer", SortKey: "placed",
		Shards: table.Fixed(4), Layout: table.CalculatedSuffix{},
	}
	sixteen := four
	sixteen.Shards = table.Fixed(16)
	fmt.Println(four.Put(ctx, table.Item{"customer": wingtest.Str("acme"), "placed": wingtest.Str("long ago")}))

	orders := migrate.Migration{Client: client, From: &four, To: &sixteen}
	same, err := orders.Verify(ctx, "acme", table.Span{})
	fmt.Println("free:", same.Equal(), err)

	orders.Phase = migrate.WriteBoth
	fmt.Println(orders.Put(ctx, table.Item{"customer": wingtest.Str("acme"), "placed": wingtest.Str("now")}))
	_, err = orders.Copy(ctx, "acme", table.Span{}, nil)
	fmt.Println(err)

	orders.Phase = migrate.ReadNew
	same, err = orders.Verify(ctx, "acme", table.Span{})
	fmt.Println(same.Equal(), err)

	orders.Phase = migrate.WriteNew
	_, err = orders.Drop(ctx, "acme", table.Span{}, true, nil)
	fmt.Println(err)
	fmt.Println(sixteen.Count(ctx, "acme", table.Span{}))
	// Output:
	// <nil>
	// free: true <nil>
	// <nil>
	// <nil>
	// true <nil>
	// <nil>
	// 2 <nil>
}
