// Package watch has the AWS clients of the one function that watches: of DynamoDB's streams,
// and of CloudWatch. The others start sooner without them.
package watch

import (
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/hotshard/hotshard/internal/function"
	"github.com/hotshard/hotshard/internal/metrics"
)

// Streams is for DynamoDB's streams what function.DynamoDB is for its tables.
func Streams() (*dynamodbstreams.Client, error) {
	c, e, err := function.Configure("DYNAMODB_STREAMS")
	if err != nil {
		return nil, fmt.Errorf("configuring the client of DynamoDB's streams: %w", err)
	}
	return dynamodbstreams.NewFromConfig(c, func(o *dynamodbstreams.Options) {
		o.EndpointOptions.UseFIPSEndpoint, o.EndpointOptions.UseDualStackEndpoint = e.FIPS, e.DualStack
	}), nil
}

// CloudWatch is the same for metrics.
func CloudWatch() (*cloudwatch.Client, error) {
	c, e, err := function.Configure("CLOUDWATCH")
	if err != nil {
		return nil, fmt.Errorf("configuring the CloudWatch client: %w", err)
	}
	return cloudwatch.NewFromConfig(c, func(o *cloudwatch.Options) {
		o.EndpointOptions.UseFIPSEndpoint, o.EndpointOptions.UseDualStackEndpoint = e.FIPS, e.DualStack
	}), nil
}

// Metrics returns where metrics go: the log, in CloudWatch's embedded format, or
// CloudWatch itself.
func Metrics(log bool) (metrics.Sink, error) {
	if log {
		return metrics.NewEMF(os.Stdout), nil
	}
	client, err := CloudWatch()
	if err != nil {
		return nil, err
	}
	return metrics.NewCloudWatch(client), nil
}
