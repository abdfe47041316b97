package main

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// plainOrders writes and reads the orders of a table.
type plainOrders struct {
	Client *dynamodb.Client
}

// openPlain returns the orders of the table.
func openPlain(client *dynamodb.Client) (*plainOrders, error) {
	return &plainOrders{Client: client}, nil
}

// Add adds an order, or replaces the order with the same key.
func (o *plainOrders) Add(ctx context.Context, order item) error {
	_, err := o.Client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("examples-adopt"), Item: order})
	return err
}

// OrdersOf returns a customer's orders by time.
func (o *plainOrders) OrdersOf(ctx context.Context, customer string) ([]item, error) {
	var list []item
	pages := dynamodb.NewQueryPaginator(o.Client, &dynamodb.QueryInput{
		TableName: aws.String("examples-adopt"), KeyConditionExpression: aws.String("customer = :customer"),
		ExpressionAttributeValues: item{":customer": &types.AttributeValueMemberS{Value: customer}},
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
