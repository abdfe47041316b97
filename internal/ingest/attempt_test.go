package ingest

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestALateAttemptStartsAboveATombstone makes and removes a write shard between two attempts of a keyed call. The removal
// folds as rev + 1, so the second attempt must write a higher rev.
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
