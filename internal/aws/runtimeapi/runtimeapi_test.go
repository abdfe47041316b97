package runtimeapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/hotshard/hotshard/internal/aws/runtimeapi"
	"github.com/hotshard/hotshard/internal/test/require"
)

// function is an environment variable that makes this binary a function which follows its payloads' instructions.
const function = "HOTSHARD_TEST_FUNCTION"

func TestMain(m *testing.M) {
	switch os.Getenv(function) {
	case "":
		os.Exit(m.Run())
	case "ends":
		os.Exit(3)
	case "can't start":
		reportInitError()
	default:
		lambda.Start(obey)
	}
}

func reportInitError() {
	url := "http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/init/error"
	resp, err := http.Post(url, "application/json", strings.NewReader(`{"errorType":"Broken","errorMessage":"no settings"}`))
	if err == nil {
		resp.Body.Close()
	}
	os.Exit(1)
}

type instruction struct{ Do string }

func obey(ctx context.Context, in instruction) (any, error) {
	switch in.Do {
	case "fail":
		return nil, errors.New("as instructed")
	case "panic":
		panic("as instructed")
	case "exit":
		os.Exit(7)
	case "hang":
		time.Sleep(time.Hour)
	}
	lc, _ := lambdacontext.FromContext(ctx)
	deadline, _ := ctx.Deadline()
	fmt.Println("doing", in.Do)
	return map[string]any{
		"said": in.Do, "id": lc.AwsRequestID, "arn": lc.InvokedFunctionArn, "deadline": deadline,
		"home": os.Getenv("HOME"), "mine": os.Getenv("MINE"), "name": os.Getenv("AWS_LAMBDA_FUNCTION_NAME"),
	}, nil
}

func start(t *testing.T, options runtimeapi.Options) *runtimeapi.Function {
	t.Helper()
	options.Binary, options.Name, options.Env = os.Args[0], "obey", append(options.Env, function+"=obeys")
	f, err := runtimeapi.Start(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := f.Stop(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// TestInvokePassesContext checks the deadline, the request's identity and the environment that a function sees.
func TestInvokePassesContext(t *testing.T) {
	var log bytes.Buffer
	f := start(t, runtimeapi.Options{Env: []string{"MINE=theirs", "MINE=mine"}, Log: &log})
	seen := map[any]bool{}
	for range 3 {
		before := time.Now()
		out, err := f.Invoke(t.Context(), []byte(`{"Do":"a/b ü"}`))
		require.NoError(t, err)
		var got map[string]any
		require.NoError(t, json.Unmarshal(out, &got))
		deadline, err := time.Parse(time.RFC3339Nano, got["deadline"].(string))
		if err != nil || deadline.Before(before) || deadline.After(time.Now().Add(time.Minute)) {
			t.Errorf("deadline %v, %v; want it within a minute", got["deadline"], err)
		}
		if got["said"] != "a/b ü" || got["mine"] != "mine" || got["home"] != "" || got["name"] != "obey" {
			t.Errorf("response %s, want the payload, the function's own environment and its name", out)
		}
		if !strings.HasSuffix(got["arn"].(string), ":function:obey") || seen[got["id"]] {
			t.Errorf("response %s, want an ARN and a new id", out)
		}
		seen[got["id"]] = true
	}
	if err := f.Stop(); err != nil || strings.Count(log.String(), "doing a/b ü") != 3 {
		t.Errorf("log %q, %v; want three lines of the function", &log, err)
	}
}

// TestInvokeErrors checks the errors of invocations. A function survives its own error, but not the end of its process.
func TestInvokeErrors(t *testing.T) {
	tests := []struct {
		payload, kind, message string
		survives               bool
		timeout                time.Duration // 0 for the default
	}{
		{`{"Do":"fail"}`, "errorString", "as instructed", true, 0},
		{`{"Do":`, "", "EOF", true, 0},
		{``, "", "EOF", true, 0},
		{`{"Do":"panic"}`, "string", "as instructed", false, 0},
		{`{"Do":"exit"}`, "Runtime.ExitError", "exit status 7", false, 0},
		{`{"Do":"hang"}`, "Sandbox.Timedout", "within 500ms", false, 500 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.payload, func(t *testing.T) {
			f := start(t, runtimeapi.Options{Timeout: tt.timeout})
			_, err := f.Invoke(t.Context(), []byte(tt.payload))
			fault, ok := errors.AsType[*runtimeapi.FunctionError](err)
			if !ok || !strings.Contains(fault.Message, tt.message) || tt.kind != "" && fault.Type != tt.kind {
				t.Errorf("error = %v, want %s with %q", err, tt.kind, tt.message)
			}
			if !tt.survives {
				<-f.Done()
			}
			_, err = f.Invoke(t.Context(), []byte(`{"Do":"go on"}`))
			if fault, ok := errors.AsType[*runtimeapi.FunctionError](err); tt.survives != (err == nil) || ok && fault.Type != "Runtime.ExitError" {
				t.Errorf("the next invocation: %v, want success: %t", err, tt.survives)
			}
		})
	}
}

// TestCancelledInvoke checks that the process is ended if the invocation's context ends.
func TestCancelledInvoke(t *testing.T) {
	f := start(t, runtimeapi.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := f.Invoke(ctx, []byte(`{"Do":"hang"}`)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v, want context.DeadlineExceeded", err)
	}
	<-f.Done()
}
