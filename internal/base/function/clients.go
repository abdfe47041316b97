package function

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// connections is shared by all clients of the process.
var connections = NewHTTPClient(AWSTimes)

// DynamoDB returns a client with the Region and credentials of the environment.
func DynamoDB() (*dynamodb.Client, error) {
	c, err := Configure("DYNAMODB")
	if err != nil {
		return nil, fmt.Errorf("configuring the DynamoDB client: %w", err)
	}
	return dynamodb.NewFromConfig(c), nil
}

// Configure returns the configuration of a service's client from the environment variables that Lambda sets, and from
// those of the SDKs for endpoints. It avoids the SDK's own search for credentials and shared files, and the code that this
// links: Lambda passes credentials in the environment, and has no shared files.
func Configure(service string) (c aws.Config, err error) {
	var missing []error
	require := func(name string) string {
		value := os.Getenv(name)
		if value == "" {
			missing = append(missing, fmt.Errorf("the environment variable %s is empty: set it, unless Lambda does", name))
		}
		return value
	}
	c.Region, c.HTTPClient = require("AWS_REGION"), connections
	c.Credentials = credentials.StaticCredentialsProvider{Value: aws.Credentials{
		AccessKeyID: require("AWS_ACCESS_KEY_ID"), SecretAccessKey: require("AWS_SECRET_ACCESS_KEY"),
		SessionToken: os.Getenv("AWS_SESSION_TOKEN"), AccountID: os.Getenv("AWS_ACCOUNT_ID"),
		Source: "environment",
	}}
	if url := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_"+service), os.Getenv("AWS_ENDPOINT_URL")); url != "" {
		c.BaseEndpoint = &url
	}
	return c, errors.Join(missing...)
}
