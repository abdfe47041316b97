package once_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/local/enginetest"
	"github.com/hotshard/hotshard/internal/wingtest"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestAKeyedCallsConflictsAreTold: of each action that met another transaction, by its own
// write shard; not of the others, and of all of them when the call is through.
func TestAKeyedCallsConflictsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &wingtest.Scripted{Transactions: []error{
			wingtest.CanceledFor("TransactionConflict", "None", "None"),
			wingtest.CanceledFor("None", "None", "TransactionConflict"), // the marker's own
			wingtest.CanceledFor("TransactionConflict", "TransactionConflict", "None"),
		}}
		shards, w := wingtest.EmptyMap(), &wingtest.Listener{}
		c, now := counters.NewWriter(nil, "t", shards, counters.Options{Watch: w}), time.Now()
		_, err := once.New(client, "t", shards, once.Options{Watch: w}).Do(t.Context(), once.Call{Key: "k", Digest: []byte("d")}, now, func(ctx context.Context) ([]types.TransactWriteItem, error) {
			return []types.TransactWriteItem{c.AddTransact(ctx, "a", 1, now), c.AddTransact(ctx, "b", 1, now)}, nil
		})
		if err != nil || len(w.Requests) != 2 {
			t.Fatalf("%v, %d requests", err, len(w.Requests))
		}
		for key, want := range map[string][]shardmap.Outcome{"C#a": {shardmap.Conflicted, shardmap.Conflicted, shardmap.Taken}, "C#b": {shardmap.Conflicted, shardmap.Taken}} {
			if got := w.Outcomes(key); !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", key, got, want)
			}
		}
		for _, a := range w.Attempts {
			if a.Request != w.Requests[0].ID {
				t.Errorf("an attempt of no request: %+v", a)
			}
		}
	})
}

// TestARepeatedCallIsNoAttempt: its writes were not tried.
func TestARepeatedCallIsNoAttempt(t *testing.T) {
	found := wingtest.CanceledFor("None", "ConditionalCheckFailed").(*types.TransactionCanceledException)
	found.CancellationReasons[1].Item = dynamo.Item{"digest": &types.AttributeValueMemberB{Value: []byte("d")}, "answer": &types.AttributeValueMemberB{Value: []byte("a")}}
	shards, w := wingtest.EmptyMap(), &wingtest.Listener{}
	c, now := counters.NewWriter(nil, "t", shards, counters.Options{Watch: w}), time.Unix(1_800_000_000, 0)
	before, err := once.New(&wingtest.Scripted{Transactions: []error{found}}, "t", shards, once.Options{Watch: w}).Do(t.Context(), once.Call{Key: "k", Digest: []byte("d")}, now, func(ctx context.Context) ([]types.TransactWriteItem, error) {
		return []types.TransactWriteItem{c.AddTransact(ctx, "a", 1, now)}, nil
	})
	if err != nil || string(before) != "a" || len(w.Attempts) != 0 {
		t.Errorf("%q, %v, told of %+v", before, err, w.Attempts)
	}
}

// TestACallNeedsNoAnswer: one without an answer or a digest applies once, too, and tells
// whether it was applied before.
func TestACallNeedsNoAnswer(t *testing.T) {
	d := wingtest.Deploy(t)
	calls := once.New(d.Client, d.Names.Items, nil, once.Options{})
	none := func(context.Context) ([]types.TransactWriteItem, error) { return nil, nil }
	for i, again := range []bool{false, true} {
		before, err := calls.Do(t.Context(), once.Call{Key: "k"}, enginetest.Later, none)
		if err != nil || (before != nil) != again {
			t.Errorf("call %d: before is %q, %v", i+1, before, err)
		}
	}
}
