package libtest

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
)

// ExampleTable creates a table with key attributes of type S, and returns a client for it.
func ExampleTable(name, partitionKey, sortKey string) *dynamodb.Client {
	client := enginetest.ForExamples()
	if err := createTable(client, name, partitionKey, sortKey, "S"); err != nil {
		panic(err)
	}
	return client
}

// ExampleTables creates hotshard's tables and returns a client for them.
func ExampleTables() *dynamodb.Client {
	ctx, client := context.Background(), enginetest.ForExamples()
	if err := dynamolocal.CreateTables(ctx, client, schema.NamesFor("hotshard-")); err != nil {
		panic(err)
	}
	return client
}
