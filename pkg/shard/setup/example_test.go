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

// A program creates the tables itself.
func ExampleTables() {
	names := setup.WithPrefix("hotshard-")
	for _, table := range setup.Tables(names) {
		var keys []string
		for _, key := range table.KeySchema {
			keys = append(keys, *key.AttributeName)
		}
		for _, index := range table.GlobalSecondaryIndexes {
			keys = append(keys, *index.IndexName)
		}
		fmt.Println(*table.TableName, keys)
	}
	for _, expiry := range setup.Expiry(names) {
		fmt.Println(*expiry.TableName, *expiry.TimeToLiveSpecification.AttributeName)
	}
	// Output:
	// hotshard-items [pk sk by_rank by_group]
	// hotshard-events [pk sk]
	// hotshard-rollups [pk sk]
	// hotshard-shard-map [pk sk]
	// hotshard-heat [pk sk]
	// hotshard-items expires_at
	// hotshard-events expires_at
	// hotshard-rollups expires_at
	// hotshard-shard-map expires_at
	// hotshard-heat expires_at
}
