package function_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/hotshard/hotshard/internal/base/function"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/internal/test/require"
)

// lambda sets the environment variables that Lambda sets, and clears the machine's own.
func lambda(t *testing.T, more map[string]string) {
	t.Helper()
	set := map[string]string{
		"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "token",
		"AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_DYNAMODB": "", "AWS_ENDPOINT_URL_CLOUDWATCH": "",
		"AWS_USE_FIPS_ENDPOINT": "", "AWS_USE_DUALSTACK_ENDPOINT": "", "AWS_RETRY_MODE": "", "AWS_MAX_ATTEMPTS": "",
	}
	maps.Copy(set, more)
	for name, value := range set {
		t.Setenv(name, value)
	}
}

// request returns the request that a call sends with this environment, in which URL is the server's.
func request(t *testing.T, env map[string]string, call func(context.Context) error) *http.Request {
	t.Helper()
	var got *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	for name, value := range env {
		env[name] = strings.ReplaceAll(value, "URL", server.URL)
	}
	lambda(t, env)
	require.NoError(t, call(t.Context()))
	return got
}

// TestEndpointAndCredentials checks the endpoint and the signature that follow from the environment.
func TestEndpointAndCredentials(t *testing.T) {
	listTables := func(ctx context.Context) error {
		client, err := function.DynamoDB()
		if err == nil {
			_, err = client.ListTables(ctx, nil)
		}
		return err
	}
	for _, env := range []map[string]string{
		{"AWS_ENDPOINT_URL_DYNAMODB": "URL"},
		{"AWS_ENDPOINT_URL": "URL"},
		{"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ENDPOINT_URL_DYNAMODB": "URL"},
	} {
		got := request(t, env, listTables)
		auth := got.Header.Get("Authorization")
		if got.Header.Get("X-Amz-Security-Token") != "token" || !strings.Contains(auth, "AKIDEXAMPLE/") || !strings.Contains(auth, "/eu-west-1/dynamodb/") {
			t.Errorf("%v: %v", env, got.Header)
		}
	}
}

// TestOptions checks options from the environment that have no effect on a local server.
func TestOptions(t *testing.T) {
	lambda(t, map[string]string{"AWS_USE_FIPS_ENDPOINT": "true", "AWS_USE_DUALSTACK_ENDPOINT": "true", "AWS_RETRY_MODE": "adaptive", "AWS_MAX_ATTEMPTS": "7"})
	client, err := function.DynamoDB()
	require.NoError(t, err)
	if o := client.Options(); o.EndpointOptions.UseFIPSEndpoint != aws.FIPSEndpointStateEnabled ||
		o.EndpointOptions.UseDualStackEndpoint != aws.DualStackEndpointStateEnabled || o.RetryMode != aws.RetryModeAdaptive || o.Retryer.MaxAttempts() != 7 || o.BaseEndpoint != nil || !limits(o.HTTPClient, function.AWSTimes) {
		t.Errorf("DynamoDB's options are %+v", o)
	}
	watch, err := hotkeys.CloudWatchClient()
	require.NoError(t, err)
	if o := watch.Options(); o.EndpointOptions.UseFIPSEndpoint != aws.FIPSEndpointStateEnabled || o.Region != "eu-west-1" || o.Retryer.MaxAttempts() != 7 || !limits(o.HTTPClient, function.CloudWatchTimes) {
		t.Errorf("CloudWatch's options are %+v", o)
	}
}

// limits reports whether a client has the time-outs.
func limits(c any, times function.HTTPTimes) bool {
	h, ok := c.(*http.Client)
	return ok && h.Timeout == times.Whole && h.Transport.(*http.Transport).ResponseHeaderTimeout == times.Answer
}

// slowCloudWatch answers each call with a status after a time, and counts the calls. The environment names it.
func slowCloudWatch(t *testing.T, after time.Duration, status int) (calls *atomic.Int32) {
	t.Helper()
	calls = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		time.Sleep(after)
		w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
		w.WriteHeader(status)
		_, _ = w.Write([]byte("\xa0"))
	}))
	t.Cleanup(server.Close)
	lambda(t, map[string]string{"AWS_ENDPOINT_URL_CLOUDWATCH": server.URL})
	return calls
}

// TestCloudWatchMaySlowlyAnswer checks that calls of CloudWatch succeed with one attempt if the response takes longer
// than DynamoDB's does.
func TestCloudWatchMaySlowlyAnswer(t *testing.T) {
	const slow = 1200 * time.Millisecond // DynamoDB's limit is 1 s
	for name, call := range map[string]func(context.Context, *cloudwatch.Client) error{
		"PutMetricData": putDatum,
		"GetMetricData": func(ctx context.Context, client *cloudwatch.Client) error {
			_, err := client.GetMetricData(ctx, &cloudwatch.GetMetricDataInput{
				StartTime: aws.Time(time.Unix(0, 0)), EndTime: aws.Time(time.Unix(60, 0)), MetricDataQueries: []types.MetricDataQuery{},
			})
			return err
		},
	} {
		calls := slowCloudWatch(t, slow, http.StatusOK)
		client, err := hotkeys.CloudWatchClient()
		require.NoError(t, err)
		if err := call(t.Context(), client); err != nil || calls.Load() != 1 {
			t.Errorf("%s: %d calls, %v; want 1", name, calls.Load(), err)
		}
	}
}

// putDatum sends a datum by the sink.
func putDatum(ctx context.Context, client *cloudwatch.Client) error {
	return hotkeys.NewCloudWatch(client).Put(ctx, []hotkeys.Datum{{Name: "HotKeys", Value: 1, Unit: hotkeys.UnitCount, Time: time.Unix(0, 0)}})
}

// TestMetricsAreSentOnce checks that data is not sent again after a call whose outcome is unknown: it may have counted.
func TestMetricsAreSentOnce(t *testing.T) {
	calls := slowCloudWatch(t, 0, http.StatusServiceUnavailable)
	client, err := hotkeys.CloudWatchClient()
	require.NoError(t, err)
	if err := putDatum(t.Context(), client); err == nil || calls.Load() != 1 {
		t.Errorf("%d calls, %v; want 1 and its error", calls.Load(), err)
	}
}

func TestMissingVariablesAreNamed(t *testing.T) {
	lambda(t, map[string]string{"AWS_REGION": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_RETRY_MODE": "often"})
	for _, make := range []func() error{
		func() error { _, err := function.DynamoDB(); return err },
		func() error { _, err := hotkeys.CloudWatchClient(); return err },
	} {
		err := make()
		for _, name := range []string{"AWS_REGION", "AWS_SECRET_ACCESS_KEY", "AWS_RETRY_MODE"} {
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s is not named: %v", name, err)
			}
		}
	}
	lambda(t, map[string]string{"AWS_MAX_ATTEMPTS": "0"})
	if _, err := function.DynamoDB(); err == nil || !strings.Contains(err.Error(), "AWS_MAX_ATTEMPTS") {
		t.Errorf("AWS_MAX_ATTEMPTS is not named: %v", err)
	}
}
