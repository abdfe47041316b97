package ingest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestKeysAreTheCallersOwn checks that each caller, and the absence of a caller, has its own idempotency keys.
func TestKeysAreTheCallersOwn(t *testing.T) {
	r := newRig(t)
	handler := r.handler
	as := func(caller string) {
		r.handler = http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			handler.ServeHTTP(w, request.WithContext(httpapi.WithCaller(request.Context(), caller)))
		})
	}
	const one, two = `{"increments":[{"counter":"a","delta":1}]}`, `{"increments":[{"counter":"a","delta":10}]}`
	for i, c := range []struct {
		caller, body string
		status       int
		sum          string
	}{
		{"", one, 200, "1"},
		{"iam\narn:aws:sts::1:assumed-role/ann", one, 200, "2"},
		{"iam\narn:aws:sts::1:assumed-role/bob", two, 200, "12"},
		{"iam\narn:aws:sts::1:assumed-role/ann", one, 200, "12"},
		{"iam\narn:aws:sts::1:assumed-role/ann", two, 409, "12"},
		{"", two, 409, "12"},
	} {
		as(c.caller)
		got := r.post("/v1/counters", c.body, "Idempotency-Key", "1")
		if sum := r.sum("a"); got.status != c.status || sum != c.sum {
			t.Errorf("call %d by %q: %d %s, sum %s; want %d and %s", i, c.caller, got.status, got.body, sum, c.status, c.sum)
		}
	}
}

// TestNamelessTokensHaveNoKeys checks that a keyed call is rejected, and writes nothing, if the token does not name its
// caller.
func TestNamelessTokensHaveNoKeys(t *testing.T) {
	r := newRig(t)
	handler := r.handler
	r.handler = http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		handler.ServeHTTP(w, request.WithContext(httpapi.WithCaller(request.Context(), httpapi.Nameless)))
	})
	const body = `{"increments":[{"counter":"a","delta":1}]}`
	if got := r.post("/v1/counters", body, "Idempotency-Key", "1"); got.status != 422 || !strings.Contains(string(got.body), "no sub, client_id or azp claim") {
		t.Errorf("with a key: %d %s", got.status, got.body)
	}
	if got := r.post("/v1/counters", body); got.status != 200 || r.sum("a") != "1" {
		t.Errorf("without a key: %d %s, sum %s", got.status, got.body, r.sum("a"))
	}
}

// TestALateAttemptStartsAboveATombstone makes and removes a write shard between two attempts of a keyed call. The
// removal folds as rev + 1, so the second attempt must write a higher rev.
func TestALateAttemptStartsAboveATombstone(t *testing.T) {
	r := newRig(t)
	begin := enginetest.Later
	clock, tombstone := begin, int64(0)
	f := &faults{Client: r.client}
	f.before = func(operation string) error {
		if operation != "TransactWriteItems" || tombstone > 0 {
			return nil
		}
		clock = begin.Add(time.Second)
		tombstone = r.makeAndRemove("a", clock) + 1
		clock = begin.Add(2 * time.Second)
		return errThrottled
	}
	r.use(f)
	r.service.now = func() time.Time { return clock }
	got := r.post("/v1/counters", `{"increments":[{"counter":"a","delta":3}]}`, "Idempotency-Key", "k")
	if rev := r.rev("a"); got.status != 200 || tombstone == 0 || rev <= tombstone {
		t.Errorf("%d %s: rev %d after a tombstone of %d", got.status, got.body, rev, tombstone)
	}
}

// makeAndRemove makes and removes a counter's only write shard, and returns its rev.
func (r *rig) makeAndRemove(counter string, now time.Time) int64 {
	r.t.Helper()
	view := shardmap.New(r.client, r.names.ShardMap, shardmap.Options{})
	other := counters.NewWriter(r.client, r.names.Items, view, counters.Options{})
	require.NoError(r.t, other.Add(r.t.Context(), counter, 1, now))
	rev := r.rev(counter)
	_, err := r.client.DeleteItem(r.t.Context(), &dynamodb.DeleteItemInput{TableName: &r.names.Items, Key: firstShard(counter)})
	require.NoError(r.t, err)
	return rev
}

func (r *rig) rev(counter string) int64 {
	r.t.Helper()
	out, err := r.client.GetItem(r.t.Context(), &dynamodb.GetItemInput{TableName: &r.names.Items, Key: firstShard(counter)})
	require.NoError(r.t, err)
	rev, err := dynamo.Integer(out.Item, "rev")
	require.NoError(r.t, err)
	return rev
}

func firstShard(counter string) dynamo.Item { return dynamo.Key(schema.CounterKey(counter, 0)) }
