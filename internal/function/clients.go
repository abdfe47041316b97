package function

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/hotshard/hotshard/internal/awshttp"
	"github.com/hotshard/hotshard/internal/metrics"
)

// connections are those of all clients of the process.
var connections = awshttp.New(awshttp.AWS)

// DynamoDB returns a client for the Region and with the credentials of the
// environment.
func DynamoDB() (*dynamodb.Client, error) {
	c, e, err := configure("DYNAMODB")
	if err != nil {
		return nil, fmt.Errorf("configuring the DynamoDB client: %w", err)
	}
	return dynamodb.NewFromConfig(c, func(o *dynamodb.Options) {
		o.EndpointOptions.UseFIPSEndpoint, o.EndpointOptions.UseDualStackEndpoint = e.fips, e.dualStack
	}), nil
}

// Streams is DynamoDB's counterpart for streams.
func Streams() (*dynamodbstreams.Client, error) {
	c, e, err := configure("DYNAMODB_STREAMS")
	if err != nil {
		return nil, fmt.Errorf("configuring the client of DynamoDB's streams: %w", err)
	}
	return dynamodbstreams.NewFromConfig(c, func(o *dynamodbstreams.Options) {
		o.EndpointOptions.UseFIPSEndpoint, o.EndpointOptions.UseDualStackEndpoint = e.fips, e.dualStack
	}), nil
}

// CloudWatch is DynamoDB's counterpart for metrics.
func CloudWatch() (*cloudwatch.Client, error) {
	c, e, err := configure("CLOUDWATCH")
	if err != nil {
		return nil, fmt.Errorf("configuring the CloudWatch client: %w", err)
	}
	return cloudwatch.NewFromConfig(c, func(o *cloudwatch.Options) {
		o.EndpointOptions.UseFIPSEndpoint, o.EndpointOptions.UseDualStackEndpoint = e.fips, e.dualStack
	}), nil
}

// Metrics returns where metrics go: the log, in CloudWatch's embedded format, or
// CloudWatch itself.
func Metrics(log bool) (metrics.Sink, error) {
	if log {
		return metrics.NewEMF(os.Stdout), nil
	}
	watch, err := CloudWatch()
	if err != nil {
		return nil, err
	}
	return metrics.NewCloudWatch(watch), nil
}

// endpoints are kinds of endpoints; the zero values leave it to the SDK.
type endpoints struct {
	fips      aws.FIPSEndpointState
	dualStack aws.DualStackEndpointState
}

// configure reads what Lambda sets, and what of the SDK's own variables makes sense
// there. Lambda always hands out credentials by the environment, and has no files to
// share, so the SDK's search for both, and what it would link in, is left out.
func configure(service string) (c aws.Config, e endpoints, err error) {
	var missing []error
	need := func(name string) string {
		value := os.Getenv(name)
		if value == "" {
			missing = append(missing, fmt.Errorf("%s is empty; Lambda sets it", name))
		}
		return value
	}
	c.Region, c.HTTPClient = need("AWS_REGION"), connections
	c.Credentials = credentials.StaticCredentialsProvider{Value: aws.Credentials{
		AccessKeyID: need("AWS_ACCESS_KEY_ID"), SecretAccessKey: need("AWS_SECRET_ACCESS_KEY"),
		SessionToken: os.Getenv("AWS_SESSION_TOKEN"), AccountID: os.Getenv("AWS_ACCOUNT_ID"),
		Source: "environment",
	}}
	for _, name := range []string{"AWS_ENDPOINT_URL_" + service, "AWS_ENDPOINT_URL"} {
		if url := os.Getenv(name); url != "" {
			c.BaseEndpoint = &url
			break
		}
	}
	if os.Getenv("AWS_USE_FIPS_ENDPOINT") == "true" {
		e.fips = aws.FIPSEndpointStateEnabled
	}
	if os.Getenv("AWS_USE_DUALSTACK_ENDPOINT") == "true" {
		e.dualStack = aws.DualStackEndpointStateEnabled
	}
	return c, e, errors.Join(append(missing, retries(&c))...)
}

func retries(c *aws.Config) (err error) {
	if mode := os.Getenv("AWS_RETRY_MODE"); mode != "" {
		if c.RetryMode, err = aws.ParseRetryMode(mode); err != nil {
			return fmt.Errorf("AWS_RETRY_MODE: %w", err)
		}
	}
	if attempts := os.Getenv("AWS_MAX_ATTEMPTS"); attempts != "" {
		if c.RetryMaxAttempts, err = strconv.Atoi(attempts); err != nil || c.RetryMaxAttempts < 1 {
			return fmt.Errorf("AWS_MAX_ATTEMPTS is %.40q: want a number from 1 on", attempts)
		}
	}
	return nil
}
