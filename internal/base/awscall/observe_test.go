package awscall

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go/middleware"
)

// TestObserveAttempts checks that each attempt of any service's client is reported with its IAM action.
func TestObserveAttempts(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 1 {
			w.WriteHeader(http.StatusInternalServerError)
		}
		fmt.Fprint(w, "{}")
	}))
	t.Cleanup(server.Close)
	var reported []Action
	config := aws.Config{
		Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""), BaseEndpoint: &server.URL,
		APIOptions: []func(*middleware.Stack) error{ObserveAttempts(func(a Action) { reported = append(reported, a) })},
		Retryer: func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) {
				o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
			})
		},
	}
	if _, err := dynamodb.NewFromConfig(config).ListTables(t.Context(), &dynamodb.ListTablesInput{}); err != nil {
		t.Error(err)
	}
	if _, err := dynamodbstreams.NewFromConfig(config).ListStreams(t.Context(), &dynamodbstreams.ListStreamsInput{}); err != nil {
		t.Error(err)
	}
	if want := []Action{"dynamodb:ListTables", "dynamodb:ListTables", "dynamodb:ListStreams"}; !slices.Equal(reported, want) {
		t.Errorf("reported %v, want %v", reported, want)
	}
	if got := reported[0].Operation(); got != "ListTables" {
		t.Errorf("the operation of %s is %s, want ListTables", reported[0], got)
	}
}
