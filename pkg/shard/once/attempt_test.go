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

// TestObservedWrites checks how many attempts of the library's two writes of a call are observed, and their outcomes for the
// counter a. The caller's own write is never observed. Without an observer, no throttled partition is probed.
func TestObservedWrites(t *testing.T) {
	conflict, hot := libtest.CanceledFor("None", "TransactionConflict", "None"), libtest.CanceledFor("None", "ThrottlingError", "None")
	for name, c := range map[string]struct {
		transactions []error
		fails        int  // the attempt whose writes can't be built; 0 is none
		marker       bool // exists then
		all          int
		want         []shard.Outcome
	}{
		"applied":              {nil, 0, false, 2, []shard.Outcome{shard.Accepted}},
		"invalid":              {[]error{shard.ErrMisused}, 0, false, 0, nil},
		"invalid after one":    {[]error{conflict, shard.ErrMisused}, 0, false, 2, []shard.Outcome{shard.Conflicted}},
		"applied by another":   {[]error{conflict}, 2, true, 2, nil},
		"not applied before":   {[]error{conflict}, 2, false, 2, []shard.Outcome{shard.Conflicted}},
		"throttled once":       {[]error{hot}, 0, false, 4, []shard.Outcome{shard.Throttled, shard.Accepted}},
		"conflicts to the end": {slices.Repeat([]error{conflict}, 96), 0, false, 2 * 96, slices.Repeat([]shard.Outcome{shard.Conflicted}, 96)},
	} {
		for _, observed := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				client, w, now, attempts := &libtest.Scripted{Transactions: c.transactions, Probe: libtest.Hot(libtest.TableHot)}, &libtest.Listener{}, time.Now(), 0
				o := once.Options{}
				if observed {
					o.Observer = w
				}
				if c.marker {
					client.Items = []dynamo.Item{stored([]byte("d"), []byte("a"), now.Add(time.Hour))}
				}
				counter := counters.NewWriter(nil, "t", libtest.EmptyMap(), counters.Options{})
				_, _ = once.New(client, "t", o).Do(t.Context(), once.Call{Key: "k", Digest: []byte("d")}, now, func(ctx context.Context) ([]shardmap.Write, error) {
					if attempts++; attempts == c.fails {
						return nil, shard.ErrMisused
					}
					a, b := counter.AddTransact(ctx, "a", 1, now), counter.AddTransact(ctx, "a", 1, now)
					a.Attempt.Items, b.Attempt.Items = 3, 4
					return []shardmap.Write{{}, a, b}, nil
				})
				if !observed {
					if len(client.Probed) > 0 {
						t.Errorf("%s: %d probes without an observer", name, len(client.Probed))
					}
					return
				}
				var got []shard.Outcome
				for _, a := range w.Attempts {
					if a.Items != 7 {
						t.Errorf("%s: an attempt of %d items, want the call's 7", name, a.Items)
					}
				}
				for i, o := range w.Outcomes("C#a") {
					if o != shard.Accepted || i%2 == 0 { // both of the counter's writes are accepted
						got = append(got, o)
					}
				}
				if w.All != c.all || !slices.Equal(got, c.want) {
					t.Errorf("%s: %d attempts observed, of them %v; want %d and %v", name, w.All, got, c.all, c.want)
				}
			})
		}
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
