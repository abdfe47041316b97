package wingtest

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/local/enginetest"
	"github.com/hotshard/hotshard/pkg/shard/setup"
)

// ExampleTable makes a caller's table with these names of keys, of type S, and returns
// the client that sees it.
func ExampleTable(name, partitionKey, sortKey string) *dynamodb.Client {
	client := enginetest.ForExamples()
	_, err := client.CreateTable(context.Background(), &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: &partitionKey, AttributeType: "S"}, {AttributeName: &sortKey, AttributeType: "S"},
		},
		KeySchema: []types.KeySchemaElement{{AttributeName: &partitionKey, KeyType: "HASH"}, {AttributeName: &sortKey, KeyType: "RANGE"}},
	})
	if err != nil {
		panic(err)
	}
	return client
}

// ExampleTables makes tables of hotshard's form.
func ExampleTables() *dynamodb.Client {
	ctx, client := context.Background(), enginetest.ForExamples()
	if err := setup.Create(ctx, client, setup.WithPrefix("hotshard-")); err != nil {
		panic(err)
	}
	return client
}
