package setup_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/setup"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
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

// Keys have the names of the caller: each constructor of the library takes the client.
func ExampleNames_RenameKeys() {
	ctx, client := context.Background(), enginetest.ForExamples()
	names := setup.Names{Items: "shop", ShardMap: "shop-shards", PartitionKey: "PK", SortKey: "SK"}
	db := dynamodb.New(client.Options(), names.RenameKeys)
	fmt.Println(setup.Create(ctx, db, names))
	shards := shardmap.New(db, names.ShardMap, shardmap.Options{})
	fmt.Println(counters.NewWriter(db, names.Items, shards, counters.Options{}).Add(ctx, "page/home", 1, time.Now()))
	stored, err := client.Scan(ctx, &dynamodb.ScanInput{TableName: &names.Items})
	fmt.Println(slices.Sorted(maps.Keys(stored.Items[0])), err)
	// Output:
	// <nil>
	// <nil>
	// [PK SK rev value] <nil>
}
