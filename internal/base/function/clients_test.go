package function_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/hotshard/hotshard/internal/base/awshttp"
	"github.com/hotshard/hotshard/internal/base/function"
	"github.com/hotshard/hotshard/internal/base/function/watch"
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
		o.EndpointOptions.UseDualStackEndpoint != aws.DualStackEndpointStateEnabled || o.RetryMode != aws.RetryModeAdaptive || o.Retryer.MaxAttempts() != 7 || o.BaseEndpoint != nil || !ours(o.HTTPClient) {
		t.Errorf("DynamoDB's options are %+v", o)
	}
	watch, err := watch.CloudWatch()
	require.NoError(t, err)
	if o := watch.Options(); o.EndpointOptions.UseFIPSEndpoint != aws.FIPSEndpointStateEnabled || o.Region != "eu-west-1" || o.Retryer.MaxAttempts() != 7 || !ours(o.HTTPClient) {
		t.Errorf("CloudWatch's options are %+v", o)
	}
}

// ours reports whether a client has the time-outs of package awshttp.
func ours(c any) bool {
	h, ok := c.(*http.Client)
	return ok && h.Timeout == awshttp.AWS.Whole && h.Transport.(*http.Transport).ResponseHeaderTimeout == awshttp.AWS.Answer
}

// TestMetricsAreRetried checks that a call of CloudWatch is retried after a 503.
func TestMetricsAreRetried(t *testing.T) {
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls++; calls == 1 {
			http.Error(w, "", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
		_, _ = w.Write([]byte("\xa0"))
	}))
	defer server.Close()
	lambda(t, map[string]string{"AWS_ENDPOINT_URL_CLOUDWATCH": server.URL})
	watch, err := watch.CloudWatch()
	if err == nil {
		_, err = watch.PutMetricData(t.Context(), &cloudwatch.PutMetricDataInput{
			Namespace: aws.String("n"), MetricData: []types.MetricDatum{{MetricName: aws.String("m"), Value: aws.Float64(1)}},
		})
	}
	if err != nil || calls != 2 {
		t.Errorf("%d calls, %v; want 2", calls, err)
	}
}

func TestMissingVariablesAreNamed(t *testing.T) {
	lambda(t, map[string]string{"AWS_REGION": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_RETRY_MODE": "often"})
	for _, make := range []func() error{
		func() error { _, err := function.DynamoDB(); return err },
		func() error { _, err := watch.CloudWatch(); return err },
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
