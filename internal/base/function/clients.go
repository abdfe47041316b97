package function

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// connections is shared by all clients of the process.
var connections = NewHTTPClient(AWSTimes)

// DynamoDB returns a client with the Region and credentials of the environment.
func DynamoDB() (*dynamodb.Client, error) {
	c, e, err := Configure("DYNAMODB")
	if err != nil {
		return nil, fmt.Errorf("configuring the DynamoDB client: %w", err)
	}
	return dynamodb.NewFromConfig(c, func(o *dynamodb.Options) {
		o.EndpointOptions.UseFIPSEndpoint, o.EndpointOptions.UseDualStackEndpoint = e.FIPS, e.DualStack
	}), nil
}

// Endpoints selects kinds of endpoints; the zero value leaves the choice to the SDK.
type Endpoints struct {
	FIPS      aws.FIPSEndpointState
	DualStack aws.DualStackEndpointState
}

// Configure returns the configuration of a service's client from the environment variables that Lambda sets, and from
// some of the SDK's. It avoids the SDK's own search for credentials and shared files, and the code that this links:
// Lambda passes credentials in the environment, and has no shared files.
func Configure(service string) (c aws.Config, e Endpoints, err error) {
	var missing []error
	require := func(name string) string {
		value := os.Getenv(name)
		if value == "" {
			missing = append(missing, fmt.Errorf("%s is empty: set it outside Lambda", name))
		}
		return value
	}
	c.Region, c.HTTPClient = require("AWS_REGION"), connections
	c.Credentials = credentials.StaticCredentialsProvider{Value: aws.Credentials{
		AccessKeyID: require("AWS_ACCESS_KEY_ID"), SecretAccessKey: require("AWS_SECRET_ACCESS_KEY"),
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
		e.FIPS = aws.FIPSEndpointStateEnabled
	}
	if os.Getenv("AWS_USE_DUALSTACK_ENDPOINT") == "true" {
		e.DualStack = aws.DualStackEndpointStateEnabled
	}
	return c, e, errors.Join(append(missing, readRetries(&c))...)
}

// readRetries reads the SDK's variables for retries.
func readRetries(c *aws.Config) (err error) {
	if mode := os.Getenv("AWS_RETRY_MODE"); mode != "" {
		if c.RetryMode, err = aws.ParseRetryMode(mode); err != nil {
			return fmt.Errorf("AWS_RETRY_MODE: %w", err)
		}
	}
	if attempts := os.Getenv("AWS_MAX_ATTEMPTS"); attempts != "" {
		if c.RetryMaxAttempts, err = strconv.Atoi(attempts); err != nil || c.RetryMaxAttempts < 1 {
			return fmt.Errorf("AWS_MAX_ATTEMPTS is %.40q: want a number of 1 or more", attempts)
		}
	}
	return nil
}
