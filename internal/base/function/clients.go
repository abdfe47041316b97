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
var connections = NewHTTPClient(AWSTimeouts)

// DynamoDB returns a client with the Region and credentials of the environment.
func DynamoDB() (*dynamodb.Client, error) {
	c, err := Configure("DYNAMODB")
	if err != nil {
		return nil, fmt.Errorf("configuring the DynamoDB client: %w", err)
	}
	return dynamodb.NewFromConfig(c), nil
}

// Configure returns the configuration of a service's client, from the environment variables that Lambda sets. service is
// the suffix of AWS_ENDPOINT_URL_, such as DYNAMODB. The error lists all variables that are missing.
//
// The SDK's own search for credentials and shared files is not used, since it makes the program larger and slower to start.
func Configure(service string) (c aws.Config, err error) {
	var missing []error
	for _, name := range []string{"AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		if os.Getenv(name) == "" {
			missing = append(missing, fmt.Errorf("the environment variable %s is empty: outside Lambda, set it yourself", name))
		}
	}
	c.Region, c.HTTPClient = os.Getenv("AWS_REGION"), connections
	c.Credentials = credentials.StaticCredentialsProvider{Value: aws.Credentials{
		AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY"),
		SessionToken: os.Getenv("AWS_SESSION_TOKEN"), AccountID: os.Getenv("AWS_ACCOUNT_ID"),
		Source: "environment",
	}}
	if url := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_"+service), os.Getenv("AWS_ENDPOINT_URL")); url != "" {
		c.BaseEndpoint = &url
	}
	return c, errors.Join(missing...)
}
