package ingest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/libtest"
)

// faults is a client with injected faults: calls fail before they reach the engine, or their responses are lost.
type faults struct {
	*dynamodb.Client
	mu     sync.Mutex
	before func(operation string) error // nil lets the call through
	after  func(operation string) error
	keep   func(i int) bool // whether the item i of a batch is processed; nil for all
	lost   int              // number of lost responses
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

// BatchWriteItem writes the items for which keep returns true, and leaves the rest unprocessed.
func (f *faults) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.BatchWriteItemOutput, err error) {
	f.mu.Lock()
	keep := f.keep
	f.mu.Unlock()
	if keep == nil {
		err = f.wrap("BatchWriteItem", func() error { out, err = f.Client.BatchWriteItem(ctx, in, o...); return err })
		return out, err
	}
	kept, left := map[string][]types.WriteRequest{}, map[string][]types.WriteRequest{}
	for table, requests := range in.RequestItems {
		for i, r := range requests {
			if keep(i) {
				kept[table] = append(kept[table], r)
			} else {
				left[table] = append(left[table], r)
			}
		}
	}
	if len(kept) > 0 {
		if _, err := f.Client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: kept}, o...); err != nil {
			return nil, err
		}
	}
	return &dynamodb.BatchWriteItemOutput{UnprocessedItems: left}, nil
}

var (
	errThrottled = libtest.Hot(libtest.TableHot)
	errLost      = fmt.Errorf("sending: %w", libtest.LostAnswer{})
)

func always(err error) func(string) error { return func(string) error { return err } }

func eventsBody(n int, entity string) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"entity":%q,"id":"%d","time":"2026-01-05T00:00:00Z"}`, entity, i))
	}
	return `{"events":[` + strings.Join(list, ",") + `]}`
}

// TestExhaustedCapacityIs429 checks that a throttled call, with and without a key, is a 429 and writes nothing.
func TestExhaustedCapacityIs429(t *testing.T) {
	r := newRig(t)
	f := &faults{Client: r.client, before: always(errThrottled), keep: func(int) bool { return false }}
	r.use(f)
	r.service.settings.Deadline = 2 * time.Second
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/v1/events", eventsBody(1, "e")},
		{"POST", "/v1/events", eventsBody(60, "e")},
		{"POST", "/v1/counters", `{"increments":[{"counter":"c","delta":1}]}`},
		{"PUT", "/v1/sessions", `{"group":"g","id":"i","ttl":"1h"}`},
		{"POST", "/v1/limits", `{"key":"k","limit":1,"window":"1h"}`},
	} {
		for _, key := range [][]string{nil, {"Idempotency-Key", "k"}} {
			got := r.send(c.method, c.path, c.body, key...)
			if got.status != 429 || got.header.Get("Retry-After") == "" || !strings.Contains(string(got.body), "no capacity") {
				t.Errorf("%s %v: %d %v %s, want a 429", c.path, key, got.status, got.header, got.body)
			}
		}
	}
	r.wantNothingWritten()
}

// TestUnreachableIs503 checks that a write with an unknown outcome is a 503 that says so, without the network error.
func TestUnreachableIs503(t *testing.T) {
	r := newRig(t)
	r.use(&faults{Client: r.client, before: always(errLost)})
	r.service.settings.Deadline = 2 * time.Second
	got := r.post("/v1/events", eventsBody(1, "e"))
	if got.status != 503 || got.header.Get("Retry-After") == "" || strings.Contains(string(got.body), errLost.Error()) ||
		!strings.Contains(string(got.body), "it may have been written") {
		t.Errorf("got %d %s, want a 503", got.status, got.body)
	}
}

// TestInternalErrorIsLoggedAndNotReturned checks that a 500 has the request's id, and the log has the id and the error.
func TestInternalErrorIsLoggedAndNotReturned(t *testing.T) {
	r := newRig(t)
	r.use(&faults{Client: r.client, before: always(errors.New("secret"))})
	got := r.post("/v1/events", eventsBody(1, "e"))
	id := got.header.Get("X-Request-Id")
	if got.status != 500 || strings.Contains(string(got.body), "secret") || !strings.Contains(string(got.body), id) {
		t.Errorf("got %d %s, want a 500 with the id %s", got.status, got.body, id)
	}
	if log := r.log.String(); !strings.Contains(log, "secret") || !strings.Contains(log, id) {
		t.Errorf("the log lacks the error or the id: %s", log)
	}
}

// TestPartlyProcessedBatches checks that unprocessed events are repeated, and that at the deadline the response has the
// outcome of each event.
func TestPartlyProcessedBatches(t *testing.T) {
	r := newRig(t)
	calls := 0
	f := &faults{Client: r.client, keep: func(i int) bool { calls++; return (i+calls)%3 != 0 }}
	r.use(f)
	var out eventsAnswer
	got := r.post("/v1/events", eventsBody(25, "e"))
	got.decode(t, &out)
	if out.Accepted != 25 || r.items() != 25 {
		t.Fatalf("got %s and %d items, want 25 accepted events", got.body, r.items())
	}
	r.service.settings.Deadline = 2 * time.Second
	calls = 0
	f.keep = func(i int) bool { calls++; return calls <= 10 }
	got = r.post("/v1/events", eventsBody(25, "f"))
	got.decode(t, &out)
	if got.status != 200 || out.Accepted == 0 || out.Rejected == 0 || out.Accepted+out.Rejected != 25 {
		t.Fatalf("got %d %s, want accepted and rejected events", got.status, got.body)
	}
	for i, result := range out.Results {
		if (result.Status == Rejected) != (result.Detail != "") {
			t.Errorf("result %d is %+v, want a detail exactly if it is rejected", i, result)
		}
	}
	if n := r.items(); n != 25+out.Accepted {
		t.Errorf("%d items, want 25 and the %d accepted", n, out.Accepted)
	}
}

// TestLostAnswersOfKeyedCalls checks that keyed calls, repeated until they succeed, are applied once. A quarter of their
// requests is throttled, and a third of the responses is lost.
func TestLostAnswersOfKeyedCalls(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
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
	for i := range 100 {
		body := `{"increments":[{"counter":"a","delta":3},{"counter":"b","delta":1}]}`
		for r.post("/v1/counters", body, "Idempotency-Key", fmt.Sprint(i)).status != 200 {
		}
	}
	// Events are in another table than the marker, and without an id each attempt would put another event.
	for i := range 40 {
		for r.post("/v1/events", `{"events":[{"entity":"door"},{"entity":"gate"}]}`, "Idempotency-Key", fmt.Sprint("e", i)).status != 200 {
		}
	}
	out, err := r.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &r.names.Events})
	if err != nil || len(out.Items) != 80 {
		t.Errorf("%d events, want 80; %v", len(out.Items), err)
	}
	if r.sum("a") != "300" || r.sum("b") != "100" {
		t.Errorf("a is %s, want 300; b is %s, want 100; %d answers lost", r.sum("a"), r.sum("b"), f.lost)
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

// TestAmbiguousResultBeforeThrottles checks that a call whose first attempt has an unknown outcome is a 503, even if all
// later attempts are throttled.
func TestAmbiguousResultBeforeThrottles(t *testing.T) {
	r := newRig(t)
	n := 0
	f := &faults{Client: r.client}
	f.before = func(string) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if n++; n > 1 {
			return errThrottled
		}
		return nil
	}
	f.after = func(string) error { return errLost }
	r.use(f)
	r.service.settings.Deadline = 2 * time.Second
	got := r.post("/v1/counters", `{"increments":[{"counter":"a","delta":1}]}`)
	if got.status != 503 || !strings.Contains(string(got.body), "it may have been written") || r.sum("a") != "1" {
		t.Errorf("got %d %s, sum %s; want a 503 and 1", got.status, got.body, r.sum("a"))
	}
}
