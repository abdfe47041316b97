package awscall

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
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

// standIn returns a client of a fake of AWS, and the requests that the fake received. The answers, repeated from the last,
// are a status, an error type or "-", and a body.
func standIn(t *testing.T, answers ...string) (*Client, *[]string) {
	t.Helper()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		asked = append(asked, fmt.Sprintf("%s %s %s %s %s", r.Method, r.URL, r.Header.Get("X-Amz-Target"), body, r.Header.Get("Authorization")))
		status, header, text := 0, "", ""
		answer := answers[min(len(asked), len(answers))-1]
		if _, err := fmt.Sscan(answer, &status, &header); err != nil {
			t.Error(err)
		}
		_, text, _ = strings.Cut(answer, header+" ")
		if header != "-" {
			w.Header().Set("X-Amzn-Errortype", header)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, text)
	}))
	t.Cleanup(server.Close)
	return &Client{
		Region: "eu-west-1", Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", ""),
		Endpoint: func(string) string { return server.URL },
		Now:      func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) },
		Sleep:    func(context.Context, time.Duration) {},
	}, &asked
}

const scope = "Credential=AKIDEXAMPLE/20260304/eu-west-1/%s/aws4_request"

// TestProtocols checks the request, signature, response and reported action of each protocol.
func TestProtocols(t *testing.T) {
	client, asked := standIn(t,
		`200 - {"Parameter":{"Value":"21"}}`,
		`200 - <DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackStatus>CREATE_COMPLETE</StackStatus></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`,
		`200 - {"AccountLimit":{"ConcurrentExecutions":1000}}`)
	var actions []string
	client.Called = func(a Action) { actions = append(actions, string(a)) }

	var parameter struct{ Parameter struct{ Value string } }
	if err := client.JSON(t.Context(), "ssm:GetParameter", "AmazonSSM", map[string]string{"Name": "/x"}, &parameter); err != nil || parameter.Parameter.Value != "21" {
		t.Errorf("%+v, %v", parameter, err)
	}
	var stacks struct {
		Status string `xml:"DescribeStacksResult>Stacks>member>StackStatus"`
	}
	if err := client.Query(t.Context(), "cloudformation:DescribeStacks", "2010-05-15", url.Values{"StackName": {"a b"}}, &stacks); err != nil || stacks.Status != "CREATE_COMPLETE" {
		t.Errorf("%+v, %v", stacks, err)
	}
	var settings struct {
		AccountLimit struct{ ConcurrentExecutions int }
	}
	if err := client.Get(t.Context(), "lambda:GetAccountSettings", "/2016-08-19/account-settings/", &settings); err != nil || settings.AccountLimit.ConcurrentExecutions != 1000 {
		t.Errorf("%+v, %v", settings, err)
	}
	for i, want := range []string{
		`POST / AmazonSSM.GetParameter {"Name":"/x"} AWS4-HMAC-SHA256 ` + fmt.Sprintf(scope, "ssm"),
		`POST /  Action=DescribeStacks&StackName=a+b&Version=2010-05-15 AWS4-HMAC-SHA256 ` + fmt.Sprintf(scope, "cloudformation"),
		`GET /2016-08-19/account-settings/   AWS4-HMAC-SHA256 ` + fmt.Sprintf(scope, "lambda"),
	} {
		if !strings.HasPrefix((*asked)[i], want) {
			t.Errorf("request %d is\n%s, want\n%s", i, (*asked)[i], want)
		}
	}
	if got := strings.Join(actions, " "); got != "ssm:GetParameter cloudformation:DescribeStacks lambda:GetAccountSettings" {
		t.Errorf("the reported actions are %s", got)
	}
}

// TestFaults checks that an error has the action, code and message of each form of response, and is not retried.
func TestFaults(t *testing.T) {
	for answer, want := range map[string]string{
		`400 - {"__type":"com.amazonaws.x#ParameterNotFound","message":"none"}`:                    "ssm:GetParameter: ParameterNotFound: none",
		`403 - {"__type":"AccessDeniedException","Message":"no"}`:                                  "ssm:GetParameter: AccessDeniedException: no",
		`404 ResourceNotFoundException:http://x {"Message":"gone"}`:                                "ssm:GetParameter: ResourceNotFoundException: gone",
		`400 - <ErrorResponse><Error><Code>Bad</Code><Message>m</Message></Error></ErrorResponse>`: "ssm:GetParameter: Bad: m",
		`404 - <html>`: "ssm:GetParameter: HTTP status 404 without an error code",
	} {
		client, asked := standIn(t, answer)
		err := client.JSON(t.Context(), "ssm:GetParameter", "AmazonSSM", nil, nil)
		if err == nil || err.Error() != want || len(*asked) != 1 {
			t.Errorf("%s: %v after %d requests, want %s after one", answer, err, len(*asked), want)
		}
		if Denied(err) != strings.Contains(answer, "AccessDenied") {
			t.Errorf("%v: denied is %t", err, Denied(err))
		}
	}
}

// TestRetries checks that a request with a transient fault is sent up to three times.
func TestRetries(t *testing.T) {
	for _, transient := range []string{`503 - x`, `429 - {}`, `400 - {"__type":"ThrottlingException"}`} {
		client, asked := standIn(t, transient, transient, `200 - {}`)
		if err := client.Get(t.Context(), "lambda:X", "/", nil); err != nil || len(*asked) != 3 {
			t.Errorf("%s: %v after %d requests", transient, err, len(*asked))
		}
		client, asked = standIn(t, transient)
		if err := client.Get(t.Context(), "lambda:X", "/", nil); err == nil || len(*asked) != 3 {
			t.Errorf("%s each time: %v after %d requests, want an error after 3", transient, err, len(*asked))
		}
	}
	client, _ := standIn(t, `200 - nonsense`)
	if err := client.Get(t.Context(), "lambda:X", "/", &struct{}{}); err == nil || !strings.Contains(err.Error(), "can't decode the response") {
		t.Errorf("a response that is no JSON: %v", err)
	}
}

// TestEndpoints checks the host of a service in AWS's partitions.
func TestEndpoints(t *testing.T) {
	for region, want := range map[string]string{"eu-west-1": "https://ssm.eu-west-1.amazonaws.com", "cn-north-1": "https://ssm.cn-north-1.amazonaws.com.cn"} {
		if got := (&Client{Region: region}).endpoint("ssm"); got != want {
			t.Errorf("%s: %s, want %s", region, got, want)
		}
	}
}

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
