package throttle_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// A test puts a limiter before its engine and moves the clock itself.
func ExampleLimiter() {
	ctx := context.Background()
	engine := enginetest.ForExamples() // a client of DynamoDB Local
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	limiter, err := throttle.New(throttle.Options{Partitions: 4, PartitionWCU: 2, Now: func() time.Time { return now }})
	if err != nil {
		panic(err)
	}
	db := dynamodb.New(engine.Options(), func(o *dynamodb.Options) {
		o.HTTPClient = &http.Client{Transport: limiter}
		o.Retryer = aws.NopRetryer{}
	})
	id := aws.String("id")
	_, err = db.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: aws.String("orders"), BillingMode: types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: id, KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: id, AttributeType: types.ScalarAttributeTypeS}},
	})
	if err != nil {
		panic(err)
	}
	put := func() {
		_, err := db.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: aws.String("orders"), Item: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "hot"}},
		})
		if e, ok := errors.AsType[*types.ThrottlingException](err); ok {
			fmt.Println("throttled:", *e.ThrottlingReasons[0].Reason)
			return
		}
		fmt.Println("written:", err)
	}
	for range 3 {
		put()
	}
	now = now.Add(time.Second)
	put()
	fmt.Println(limiter.Stats().WriteUnits, "units")
	// Output:
	// written: <nil>
	// written: <nil>
	// throttled: TableWriteKeyRangeThroughputExceeded
	// written: <nil>
	// 3 units
}
