package once_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestEveryWriteOfKeyedCallIsObserved checks that each write of each transaction is observed once: as a conflict if it
// conflicted, as accepted if the call succeeded, and otherwise as inconclusive.
func TestEveryWriteOfKeyedCallIsObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &libtest.Scripted{Transactions: []error{
			libtest.CanceledFor("TransactionConflict", "None", "None"),
			libtest.CanceledFor("TransactionConflict", "TransactionConflict", "None"),
		}}
		shards, w := libtest.EmptyMap(), &libtest.Listener{}
		c, now := counters.NewWriter(nil, "t", shards, counters.Options{Observer: w}), time.Now()
		_, err := once.New(client, "t", once.Options{Observer: w}).Do(t.Context(), once.Call{Key: "k", Digest: []byte("d")}, now, func(ctx context.Context) ([]shardmap.Write, error) {
			return []shardmap.Write{c.AddTransact(ctx, "a", 1, now), c.AddTransact(ctx, "b", 1, now)}, nil
		})
		if err != nil || w.All != 3*2 {
			t.Fatalf("%d attempts observed, %v; want 6", w.All, err)
		}
		for key, want := range map[string][]shard.Outcome{"C#a": {shard.Conflicted, shard.Conflicted, shard.Accepted}, "C#b": {shard.Conflicted, shard.Accepted}} {
			if got := w.Outcomes(key); !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", key, got, want)
			}
		}
		for _, a := range w.Attempts {
			if a.Call == 0 || a.Call != w.Attempts[0].Call {
				t.Errorf("an attempt with another call number: %+v", a)
			}
		}
	})
}

// markerFound returns the cancellation of a transaction whose call was applied before, with answer a.
func markerFound() error {
	canceled := libtest.CanceledFor("None", "ConditionalCheckFailed").(*types.TransactionCanceledException)
	canceled.CancellationReasons[1].Item = dynamo.Item{"digest": &types.AttributeValueMemberB{Value: []byte("d")}, "answer": &types.AttributeValueMemberB{Value: []byte("a")}}
	return canceled
}

// TestAttemptsUnderOneKeyAreOneRequest checks that a conflict is not observed if the same attempt or the next one meets the
// call's marker. The other transaction belongs to the same request then.
func TestAttemptsUnderOneKeyAreOneRequest(t *testing.T) {
	for name, c := range map[string]struct {
		ends []error
		want []shard.Outcome
	}{
		"wins":         {[]error{libtest.CanceledFor("TransactionConflict", "TransactionConflict"), libtest.CanceledFor("TransactionConflict", "None")}, []shard.Outcome{shard.Accepted}},
		"loses":        {[]error{libtest.CanceledFor("TransactionConflict", "None"), markerFound()}, nil},
		"meets others": {[]error{libtest.CanceledFor("TransactionConflict", "None")}, []shard.Outcome{shard.Conflicted, shard.Accepted}},
	} {
		synctest.Test(t, func(t *testing.T) {
			shards, w, sent := libtest.EmptyMap(), &libtest.Listener{}, len(c.ends)
			counter, now := counters.NewWriter(nil, "t", shards, counters.Options{}), time.Now()
			_, err := once.New(&libtest.Scripted{Transactions: c.ends}, "t", once.Options{Observer: w}).Do(t.Context(), once.Call{Key: "k", Digest: []byte("d")}, now, func(ctx context.Context) ([]shardmap.Write, error) {
				return []shardmap.Write{counter.AddTransact(ctx, "a", 1, now)}, nil
			})
			if name != "loses" {
				sent++
			}
			if got := w.Outcomes("C#a"); err != nil || !slices.Equal(got, c.want) || w.All != sent {
				t.Errorf("%s: observed %v and %d attempts, %v; want %v and %d", name, got, w.All, err, c.want, sent)
			}
		})
	}
}

// TestRepeatedCallIsObservedAsInconclusive checks that the writes of a repeated call are observed as inconclusive.
func TestRepeatedCallIsObservedAsInconclusive(t *testing.T) {
	shards, w := libtest.EmptyMap(), &libtest.Listener{}
	c, now := counters.NewWriter(nil, "t", shards, counters.Options{Observer: w}), time.Unix(1_800_000_000, 0)
	before, err := once.New(&libtest.Scripted{Transactions: []error{markerFound()}}, "t", once.Options{Observer: w}).Do(t.Context(), once.Call{Key: "k", Digest: []byte("d")}, now, func(ctx context.Context) ([]shardmap.Write, error) {
		return []shardmap.Write{c.AddTransact(ctx, "a", 1, now)}, nil
	})
	if err != nil || string(before) != "a" || len(w.Attempts) != 0 || w.All != 1 {
		t.Errorf("answer %q, %v, observed %+v; want answer a and one inconclusive attempt", before, err, w.Attempts)
	}
}

// TestCallWithoutAnswerAppliesOnce checks that Do reports whether a call without an answer and digest was applied before.
func TestCallWithoutAnswerAppliesOnce(t *testing.T) {
	d := libtest.Deploy(t)
	calls := once.New(d.Client, d.Names.Items, once.Options{})
	none := func(context.Context) ([]shardmap.Write, error) { return nil, nil }
	for i, again := range []bool{false, true} {
		before, err := calls.Do(t.Context(), once.Call{Key: "k"}, enginetest.Later, none)
		if err != nil || (before != nil) != again {
			t.Errorf("call %d returns %q, %v; want applied before: %t", i+1, before, err, again)
		}
	}
}
