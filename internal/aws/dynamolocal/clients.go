package dynamolocal

import (
	"cmp"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/hotshard/hotshard/internal/base/function"
)

// Region is the Region of the local clients. The engine accepts any Region, but has a database
// for each unless SharedDB is set.
const Region = "us-east-1"

// DefaultAccessKey is the access key id used in place of "".
const DefaultAccessKey = "hotshard"

// httpTimes bounds one attempt of one call. The engine shares the machine, so it may need seconds
// where AWS needs milliseconds.
var httpTimes = function.HTTPTimeouts{Connect: 5 * time.Second, Response: time.Minute, Whole: time.Minute}

// transport is shared by all local clients.
var transport = function.NewTransport(httpTimes)

// Transport returns the transport of all local clients, for callers that wrap it.
func Transport() http.RoundTripper { return transport }

func localConfig(endpoint, accessKey string) aws.Config {
	return aws.Config{
		Region:       Region,
		BaseEndpoint: aws.String(endpoint),
		Credentials:  credentials.NewStaticCredentialsProvider(cmp.Or(accessKey, DefaultAccessKey), "local", ""),
		HTTPClient:   &http.Client{Transport: transport, Timeout: httpTimes.Whole},
	}
}

// DynamoDB returns a client for an engine at endpoint (a URL). The access key id (letters and digits; "" is
// DefaultAccessKey) selects the database, unless the engine has only one. The user's AWS configuration is not read.
func DynamoDB(endpoint, accessKey string, optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	// The engine sends no checksum with errors, and the SDK would log a warning.
	quiet := func(o *dynamodb.Options) { o.DisableValidateResponseChecksum = true }
	return dynamodb.NewFromConfig(localConfig(endpoint, accessKey), append([]func(*dynamodb.Options){quiet}, optFns...)...)
}

// Streams returns a client for the streams of an engine's tables. The parameters are as for [DynamoDB].
func Streams(endpoint, accessKey string, optFns ...func(*dynamodbstreams.Options)) *dynamodbstreams.Client {
	return dynamodbstreams.NewFromConfig(localConfig(endpoint, accessKey), optFns...)
}

// EngineRegion is the Region in DynamoDB Local's records and stream ARNs.
const EngineRegion = "ddblocal"

// CreationTime estimates when a record was created, since the engine gives only the minute. It returns the time of the
// read, or the minute's last second if the read is later, so that a backlog does not seem to be new.
func CreationTime(minute, read time.Time) time.Time {
	if last := minute.Add(time.Minute - time.Second); read.After(last) {
		return last
	}
	return read
}
