package function

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// DynamoDB returns a client for the Region and with the credentials of the
// environment.
func DynamoDB(ctx context.Context) (*dynamodb.Client, error) {
	c, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("configuring the DynamoDB client: %w", err)
	}
	return dynamodb.NewFromConfig(c), nil
}

// CloudWatch is DynamoDB's counterpart for metrics.
func CloudWatch(ctx context.Context) (*cloudwatch.Client, error) {
	c, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("configuring the CloudWatch client: %w", err)
	}
	return cloudwatch.NewFromConfig(c), nil
}
