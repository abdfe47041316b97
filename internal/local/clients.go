package local

import (
	"cmp"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/hotshard/hotshard/internal/awshttp"
)

// Region is the region of the local clients. The engine takes any, but has a
// database for each when it runs without SharedDB.
const Region = "us-east-1"

// DefaultAccessKey is the access key id that "" stands for.
const DefaultAccessKey = "hotshard"

// times bound one attempt of one call: the engine shares the machine, and may need
// seconds where AWS needs milliseconds.
var times = awshttp.Times{Connect: 5 * time.Second, Answer: time.Minute, Whole: time.Minute}

// transport is shared by all local clients.
var transport = awshttp.Transport(times)

// Transport is what local clients send their requests through, for those who
// wrap it.
func Transport() http.RoundTripper { return transport }

func localConfig(endpoint, accessKey string) aws.Config {
	return aws.Config{
		Region:       Region,
		BaseEndpoint: aws.String(endpoint),
		Credentials:  credentials.NewStaticCredentialsProvider(cmp.Or(accessKey, DefaultAccessKey), "local", ""),
		HTTPClient:   &http.Client{Transport: transport, Timeout: times.Whole},
	}
}

// DynamoDB returns a client for an engine at endpoint (a URL). The access key id
// ("" is DefaultAccessKey; letters and digits) names the database, unless the
// engine shares one. No configuration of the user's is read.
func DynamoDB(endpoint, accessKey string, optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	// The engine sends no checksum with errors, which the SDK would warn of.
	quiet := func(o *dynamodb.Options) { o.DisableValidateResponseChecksum = true }
	return dynamodb.NewFromConfig(localConfig(endpoint, accessKey), append([]func(*dynamodb.Options){quiet}, optFns...)...)
}

// Streams returns a client for the streams of the tables that DynamoDB's client
// with the same endpoint and access key id sees.
func Streams(endpoint, accessKey string, optFns ...func(*dynamodbstreams.Options)) *dynamodbstreams.Client {
	return dynamodbstreams.NewFromConfig(localConfig(endpoint, accessKey), optFns...)
}
