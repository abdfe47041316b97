package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// TestThrottle runs the proxy before the engine. The SDK gets the reason of a throttle, and /_throttle names the hot
// key. Calls of streams pass, and an unreadable body gets the engine's error. Requests for another host are rejected.
func TestThrottle(t *testing.T) {
	t.Parallel()
	engine := enginetest.Endpoint(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out, errOut syncBuffer
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"throttle", "--before", engine, "--addr", "127.0.0.1:0", "--partitions", "1", "--partition-wcu", "1"},
			streams{out: &out, err: &errOut})
	}()
	endpoint := ""
	for deadline := time.Now().Add(time.Minute); endpoint == "" && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, rest, ok := strings.Cut(out.String(), "the proxy is at "); ok {
			endpoint, _, _ = strings.Cut(rest, "/\n")
		}
	}
	table := enginetest.Prefix("throttled")
	db := dynamolocal.DynamoDB(endpoint, "", func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	createTable(t, db, table, types.StreamViewTypeKeysOnly, "id")
	hot := item{"id": str("hot")}
	require.NoError(t, putLarge(t, db, table, hot))
	for range 3 {
		e, ok := errors.AsType[*types.ThrottlingException](putLarge(t, db, table, hot))
		if !ok || len(e.ThrottlingReasons) != 1 || *e.ThrottlingReasons[0].Reason != "TableWriteKeyRangeThroughputExceeded" ||
			!strings.HasSuffix(*e.ThrottlingReasons[0].Resource, ":table/"+table) {
			t.Fatalf("error %v, want a throttle of the key range", e)
		}
	}
	streams := dynamolocal.Streams(endpoint, "")
	listed, err := streams.ListStreams(t.Context(), &dynamodbstreams.ListStreamsInput{TableName: &table})
	if err != nil || len(listed.Streams) != 1 {
		t.Errorf("streams: %+v, %v", listed, err)
	}
	if _, err := db.ListTables(t.Context(), &dynamodb.ListTablesInput{}); err != nil {
		t.Error(err)
	}

	request := func(method, path, host, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, endpoint+path, io.MultiReader(strings.NewReader(body))) // chunked
		require.NoError(t, err)
		if req.Host = host; path == "/" {
			req.Header.Set("X-Amz-Target", "DynamoDB_20120810.PutItem")
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(text)
	}
	_, text := request("GET", "/_throttle", "localhost", "")
	var report throttle.Report
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if len(report.Throttled) != 1 || report.Throttled[0].Key != "hot" || report.Throttled[0].Count != 3 || report.Tables[0].Partitions[0].RCU != 3000 {
		t.Errorf("report %s, want three throttles of hot", text)
	}
	for _, path := range []string{"/_throttle", "/"} {
		if status, text := request("POST", path, "rebound.example.com", "{}"); status != http.StatusMisdirectedRequest {
			t.Errorf("%s for another host: %d %s, want 421", path, status, text)
		}
	}
	if status, text := request("POST", "/", "localhost", "{nonsense"); status != http.StatusBadRequest || !strings.Contains(text, "__type") {
		t.Errorf("an unreadable body: %d %s, want 400 with a type", status, text)
	}
	stop()
	select {
	case got := <-code:
		if got != exitOK {
			t.Errorf("exit %d, want 0: %s", got, errOut.String())
		}
	case <-time.After(time.Minute):
		t.Error("the command runs a minute after its end was requested")
	}
}

// TestThrottleWithoutEngine checks that the SDK gets an error which names the engine.
func TestThrottleWithoutEngine(t *testing.T) {
	c := ThrottleCmd{Before: "http://127.0.0.1:1", Addr: "127.0.0.1:0", Partitions: 4, PartitionWCU: 1000, PartitionRCU: 3000, Burst: time.Second}
	handler, err := c.handler()
	require.NoError(t, err)
	server := httptest.NewServer(handler)
	defer server.Close()
	db := dynamolocal.DynamoDB(server.URL, "", func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	for _, call := range []func() error{
		func() error { _, err := db.ListTables(t.Context(), &dynamodb.ListTablesInput{}); return err },
		func() error {
			_, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("orders"), Key: item{"id": str("1")}})
			return err
		},
	} {
		e, ok := errors.AsType[*types.InternalServerError](call())
		if !ok || !strings.Contains(e.ErrorMessage(), "http://127.0.0.1:1 did not answer") {
			t.Errorf("error %v, want an InternalServerError with the engine", e)
		}
	}
}
