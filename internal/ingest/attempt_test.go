package ingest

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestALateAttemptStartsAboveATombstone makes and removes a write shard between two attempts of a keyed call. The
// removal folds as rev + 1, so the second attempt must start above that.
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
		return errHotKey
	}
	r.use(f)
	r.service.now = func() time.Time { return clock }
	got := r.post("/v1/counters", `{"increments":[{"counter":"a","delta":3}]}`, "Idempotency-Key", "k")
	if rev := r.rev("a"); got.status != 200 || tombstone == 0 || rev <= tombstone {
		t.Errorf("%d %s: rev %d after a tombstone of %d", got.status, got.body, rev, tombstone)
	}
}

// makeAndRemove returns the last rev of a counter's only write shard.
func (r *rig) makeAndRemove(counter string, now time.Time) int64 {
	r.t.Helper()
	view := shardmap.New(r.client, r.names.ShardMap, shardmap.Options{})
	other := counters.NewWriter(r.client, r.names.Items, view, counters.Options{})
	if err := other.Add(r.t.Context(), counter, 1, now); err != nil {
		r.t.Fatal(err)
	}
	rev := r.rev(counter)
	_, err := r.client.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{TableName: &r.names.Items, Key: firstShard(counter)})
	if err != nil {
		r.t.Fatal(err)
	}
	return rev
}

func (r *rig) rev(counter string) int64 {
	r.t.Helper()
	out, err := r.client.GetItem(r.t.Context(), &dynamodb.GetItemInput{TableName: &r.names.Items, Key: firstShard(counter)})
	if err != nil {
		r.t.Fatal(err)
	}
	n, _ := out.Item["rev"].(*types.AttributeValueMemberN)
	if n == nil {
		r.t.Fatalf("counter %q has no write shard with a rev: %v", counter, out.Item)
	}
	rev, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		r.t.Fatal(err)
	}
	return rev
}

func firstShard(counter string) map[string]types.AttributeValue {
	pk := schema.Key{Base: schema.BaseKey{Type: kind.Counter, Name: counter}}.String()
	return map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: schema.SoleSK},
	}
}
