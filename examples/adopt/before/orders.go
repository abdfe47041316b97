// Package orders is how a program writes and reads its orders with the SDK alone. Package after is the same, adopted.
package orders

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Item is an order.
type Item = map[string]types.AttributeValue

// Orders writes and reads the orders of a table.
type Orders struct {
	Client *dynamodb.Client
}

// Open returns the orders of the table.
func Open(client *dynamodb.Client) (*Orders, error) {
	return &Orders{Client: client}, nil
}

// Add adds an order, and replaces one with the same key.
func (o *Orders) Add(ctx context.Context, order Item) error {
	_, err := o.Client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("examples-adopt"), Item: order})
	return err
}

// Of returns a customer's orders by time.
func (o *Orders) Of(ctx context.Context, customer string) ([]Item, error) {
	var list []Item
	pages := dynamodb.NewQueryPaginator(o.Client, &dynamodb.QueryInput{
		TableName: aws.String("examples-adopt"), KeyConditionExpression: aws.String("customer = :customer"),
		ExpressionAttributeValues: Item{":customer": &types.AttributeValueMemberS{Value: customer}},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, page.Items...)
	}
	return list, nil
}
