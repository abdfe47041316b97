package hotkeys

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/hotshard/hotshard/internal/base/function"
)

// The clients of DynamoDB Streams and CloudWatch are not in package function, because functions without their code start
// faster.

// StreamsClient returns a DynamoDB Streams client with the Region and credentials of the environment.
func StreamsClient() (*dynamodbstreams.Client, error) {
	c, err := function.Configure("DYNAMODB_STREAMS")
	if err != nil {
		return nil, fmt.Errorf("configuring the DynamoDB Streams client: %w", err)
	}
	return dynamodbstreams.NewFromConfig(c), nil
}

// connections is shared by the CloudWatch clients of the process.
var connections = function.NewHTTPClient(function.CloudWatchTimeouts)

// CloudWatchClient returns a CloudWatch client with the Region and credentials of the environment.
func CloudWatchClient() (*cloudwatch.Client, error) {
	c, err := function.Configure("CLOUDWATCH")
	if err != nil {
		return nil, fmt.Errorf("configuring the CloudWatch client: %w", err)
	}
	c.HTTPClient = connections
	return cloudwatch.NewFromConfig(c), nil
}
