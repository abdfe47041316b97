package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
)

// faults is a client with injected faults: calls fail before they reach the engine, or their responses are lost.
type faults struct {
	*dynamodb.Client
	mu     sync.Mutex
	before func(operation string) error // nil lets the call through
	after  func(operation string) error
	lost   int // number of lost responses
}

func (f *faults) wrap(operation string, call func() error) error {
	f.mu.Lock()
	before, after := f.before, f.after
	f.mu.Unlock()
	if before != nil {
		if err := before(operation); err != nil {
			return err
		}
	}
	if err := call(); err != nil || after == nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	err := after(operation)
	if err != nil {
		f.lost++
	}
	return err
}

func (f *faults) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.UpdateItemOutput, err error) {
	err = f.wrap("UpdateItem", func() error { out, err = f.Client.UpdateItem(ctx, in, o...); return err })
	return out, err
}

func (f *faults) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.PutItemOutput, err error) {
	err = f.wrap("PutItem", func() error { out, err = f.Client.PutItem(ctx, in, o...); return err })
	return out, err
}

func (f *faults) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (out *dynamodb.TransactWriteItemsOutput, err error) {
	err = f.wrap("TransactWriteItems", func() error { out, err = f.Client.TransactWriteItems(ctx, in, o...); return err })
	return out, err
}

func (f *faults) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.BatchGetItemOutput, err error) {
	err = f.wrap("BatchGetItem", func() error { out, err = f.Client.BatchGetItem(ctx, in, o...); return err })
	return out, err
}

func (f *faults) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.BatchWriteItemOutput, err error) {
	err = f.wrap("BatchWriteItem", func() error { out, err = f.Client.BatchWriteItem(ctx, in, o...); return err })
	return out, err
}

var (
	errThrottled = libtest.Hot(libtest.TableHot)
	errLost      = fmt.Errorf("sending: %w", libtest.LostAnswer{})
)

func always(err error) func(string) error { return func(string) error { return err } }

func eventsBody(n int, entity string) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"entity":%q,"id":"%d","time":"1999-01-05T00:00:00Z"}`, entity, i))
	}
	return `{"events":[` + strings.Join(list, ",") + `]}`
}

// offline returns a rig without an engine: each call that the faults let through gets an empty response. In a bubble of
// synctest, deadlines take no time.
func offline(t *testing.T, f *faults) *rig {
	t.Helper()
	f.Client = dynamodb.New(dynamodb.Options{Region: "local", Credentials: aws.AnonymousCredentials{}, HTTPClient: nothing{}})
	r := &rig{t: t, log: &bytes.Buffer{}}
	r.use(f, func(s *Settings) { s.Deadline = Deadline })
	return r
}

type nothing struct{}

func (nothing) Do(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

// TestFailedWritesAreAnswered checks the response of each call, with and without a key, if all writes fail: the status,
// the detail, and that only the log has the error.
func TestFailedWritesAreAnswered(t *testing.T) {
	const maybe = "DynamoDB is unavailable; it may have been written"
	for _, c := range []struct{ method, path, body, unknown string }{
		{"POST", "/v1/events", eventsBody(1, "e"), maybe},
		{"POST", "/v1/events", eventsBody(60, "e"), maybe},
		{"POST", "/v1/counters", `{"increments":[{"counter":"c","delta":1}]}`, maybe},
		{"POST", "/v1/scores", scoresBody("g", "ann", "1"), maybe},
		{"PUT", "/v1/sessions", `{"group":"g","id":"i","ttl":"1h"}`, maybe},
		{"DELETE", "/v1/sessions?group=g&id=i", ``, maybe},
		{"POST", "/v1/limits", `{"key":"k","limit":1,"window":"1h"}`, maybe},
		{"PUT", "/v1/leaderboards", `{"board":"g","size":10}`, "DynamoDB is unavailable"},
		{"PUT", "/v1/shards", `{"type":"counter","name":"c","shards":4}`, "DynamoDB is unavailable"},
	} {
		for _, key := range [][]string{nil, {"Idempotency-Key", "k"}} {
			if key != nil {
				c.unknown = "DynamoDB is unavailable" // a retry with the key is safe
			}
			wantFailure(t, c.method, c.path, c.body, key, errThrottled, 429, "no capacity")
			wantFailure(t, c.method, c.path, c.body, key, errLost, 503, c.unknown)
			wantFailure(t, c.method, c.path, c.body, key, errors.New("secret"), 500, "internal error; the request's id is ")
		}
	}
}

// wantFailure sends a call whose writes all fail with err, and checks its response.
func wantFailure(t *testing.T, method, path, body string, key []string, err error, status int, detail string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := offline(t, &faults{before: always(err)})
		got := r.send(method, path, body, key...)
		var problem struct{ Detail string }
		got.decode(t, &problem)
		if status == 500 {
			detail += got.header.Get("X-Request-Id")
		}
		if got.status != status || problem.Detail != detail || (got.header.Get("Retry-After") != "") != (status != 500) {
			t.Errorf("%s %s %v after %v: %d %v %s, want %d, %q", method, path, key, err, got.status, got.header, got.body, status, detail)
		}
		if log := r.log.String(); status == 500 && !(strings.Contains(log, "secret") && strings.Contains(log, got.header.Get("X-Request-Id"))) {
			t.Errorf("%s %s: the log lacks the error or the id: %s", method, path, log)
		}
		time.Sleep(time.Hour) // ends the background work of pins
	})
}

// TestLostAnswersOfKeyedCalls checks that keyed calls, repeated until they succeed, are applied once. A quarter of their
// requests is throttled, and a third of the responses is lost.
func TestLostAnswersOfKeyedCalls(t *testing.T) {
	random := rand.New(rand.NewPCG(require.Seed(t), 1))
	r := newRig(t)
	f := &faults{Client: r.client}
	f.before = func(string) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if random.IntN(4) == 0 {
			return errThrottled
		}
		return nil
	}
	f.after = func(string) error {
		if random.IntN(3) == 0 {
			return errLost
		}
		return nil
	}
	r.use(f)
	calls := require.Runs(25, 100)
	for i := range calls {
		body := `{"increments":[{"counter":"a","delta":3},{"counter":"b","delta":1}]}`
		for r.post("/v1/counters", body, "Idempotency-Key", fmt.Sprint(i)).status != 200 {
		}
	}
	// Events are in another table than the marker, and without an id each attempt would put another event.
	for i := range calls / 2 {
		for r.post("/v1/events", `{"events":[{"entity":"door"},{"entity":"gate"}]}`, "Idempotency-Key", fmt.Sprint("e", i)).status != 200 {
		}
	}
	out, err := r.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &r.names.Events})
	if err != nil || len(out.Items) != 2*(calls/2) {
		t.Errorf("%d events, want %d; %v", len(out.Items), 2*(calls/2), err)
	}
	if r.sum("a") != fmt.Sprint(3*calls) || r.sum("b") != fmt.Sprint(calls) {
		t.Errorf("a is %s, and b is %s after %d calls; %d answers lost", r.sum("a"), r.sum("b"), calls, f.lost)
	}
	if f.lost == 0 {
		t.Error("no answer was lost")
	}
}

// TestLostAnswersOfUnkeyedCallsCountOnceMoreAtMost checks that the sum is the number of accepted calls and lost responses.
func TestLostAnswersOfUnkeyedCallsCountOnceMoreAtMost(t *testing.T) {
	r := newRig(t)
	n := 0
	f := &faults{Client: r.client}
	f.after = func(string) error {
		if n++; n%5 == 0 {
			return errLost
		}
		return nil
	}
	r.use(f)
	accepted := 0
	for range 100 {
		if r.post("/v1/counters", `{"increments":[{"counter":"a","delta":1}]}`).status == 200 {
			accepted++
		}
	}
	if got := r.sum("a"); got != fmt.Sprint(accepted+f.lost) {
		t.Errorf("%d accepted, %d answers lost, sum %s", accepted, f.lost, got)
	}
}
