package setup_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard/setup"
)

// A program calls Create at each start; existing tables stay. Counters need two tables.
func ExampleCreate() {
	ctx, client := context.Background(), enginetest.ForExamples()
	for range 2 {
		fmt.Println(setup.Create(ctx, client, setup.Names{Items: "shop", ShardMap: "shop-shards"}))
	}
	list, err := client.ListTables(ctx, &dynamodb.ListTablesInput{})
	fmt.Println(list.TableNames, err)
	// Output:
	// <nil>
	// <nil>
	// [shop shop-shards] <nil>
}
