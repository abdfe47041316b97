package function_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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

// TestOptions checks the time-outs of DynamoDB's and CloudWatch's clients.
func TestOptions(t *testing.T) {
	lambda(t, nil)
	client, err := function.DynamoDB()
	require.NoError(t, err)
	if o := client.Options(); o.BaseEndpoint != nil || !limits(o.HTTPClient, function.AWSTimeouts) {
		t.Errorf("DynamoDB's options are %+v", o)
	}
	watch, err := hotkeys.CloudWatchClient()
	require.NoError(t, err)
	if o := watch.Options(); o.Region != "eu-west-1" || !limits(o.HTTPClient, function.CloudWatchTimeouts) {
		t.Errorf("CloudWatch's options are %+v", o)
	}
}

// limits reports whether a client has the time-outs, and keeps the connections of a request.
func limits(c any, times function.HTTPTimeouts) bool {
	h, ok := c.(*http.Client)
	transport, _ := h.Transport.(*http.Transport)
	return ok && h.Timeout == times.Whole && transport.ResponseHeaderTimeout == times.Response && transport.MaxIdleConnsPerHost >= 32
}

func TestMissingVariablesAreNamed(t *testing.T) {
	lambda(t, map[string]string{"AWS_REGION": "", "AWS_SECRET_ACCESS_KEY": ""})
	for _, make := range []func() error{
		func() error { _, err := function.DynamoDB(); return err },
		func() error { _, err := hotkeys.CloudWatchClient(); return err },
	} {
		err := make()
		for _, name := range []string{"AWS_REGION", "AWS_SECRET_ACCESS_KEY"} {
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s is not named: %v", name, err)
			}
		}
	}
}
