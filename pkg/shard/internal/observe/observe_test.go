package observe_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestOutcomesOfAttempts checks the outcome of an attempt by its kind of key and its error. Invalid inputs and attempts
// without a key are not observed.
func TestOutcomesOfAttempts(t *testing.T) {
	const none = "none"
	for name, c := range map[string]struct {
		kind schema.Kind
		key  string
		err  error
		want any // an outcome, or none
	}{
		"written":                 {schema.Counter, "C#a", nil, shard.Accepted},
		"its condition":           {schema.Limit, "R#a", &types.ConditionalCheckFailedException{}, shard.Accepted},
		"the table's partition":   {schema.Counter, "C#a", libtest.Hot(libtest.TableHot), shard.Throttled},
		"the index's partition":   {schema.Counter, "C#a", libtest.Hot(libtest.IndexHot), shard.Inconclusive},
		"a board's own item":      {schema.Board, "L#a", libtest.Hot(libtest.TableHot), shard.Inconclusive},
		"a board's partition":     {schema.Board, "L#a", libtest.Hot(libtest.IndexHot), shard.Throttled},
		"a session's partition":   {schema.Session, "S#a", libtest.Hot(libtest.IndexHot), shard.Throttled},
		"a table's index":         {schema.OwnTimed, "orders/a", libtest.Hot(libtest.IndexHot), shard.Inconclusive},
		"a table's partition":     {schema.OwnRandom, "clicks/a", libtest.Hot(libtest.TableHot), shard.Throttled},
		"the whole table":         {schema.Counter, "C#a", libtest.Hot("TableWriteAccountLimitExceeded"), shard.Inconclusive},
		"a conflict":              {schema.Counter, "C#a", &types.TransactionConflictException{}, shard.Conflicted},
		"an unknown result":       {schema.Counter, "C#a", libtest.LostAnswer{}, shard.Inconclusive},
		"an invalid input":        {schema.Counter, "C#a", shard.ErrMisused, none},
		"without a key":           {schema.Counter, "", nil, none},
		"without a key throttled": {schema.Counter, "", libtest.Hot(libtest.TableHot), none},
	} {
		w := &recorder{}
		call := observe.Begin(w)
		call.Observe(t.Context(), shard.Attempt{Key: c.key, Kind: string(c.kind)}, c.err)
		switch {
		case c.want == none && len(w.attempts) > 0:
			t.Errorf("%s: observed %+v, want none", name, w.attempts)
		case c.want != none && (len(w.attempts) != 1 || w.attempts[0].Outcome != c.want || w.attempts[0].Call == 0):
			t.Errorf("%s: observed %+v, want %v", name, w.attempts, c.want)
		}
	}
	w := &recorder{}
	first, second := observe.Begin(w), observe.Begin(w)
	first.Observe(t.Context(), shard.Attempt{Key: "C#a"}, nil)
	second.ObserveAs(t.Context(), shard.Attempt{Key: "C#a"}, shard.Throttled)
	if w.attempts[0].Call == w.attempts[1].Call || w.attempts[1].Outcome != shard.Throttled {
		t.Errorf("two calls: %+v, want two numbers", w.attempts)
	}
	observe.Begin(nil).Observe(t.Context(), shard.Attempt{Key: "C#a"}, nil)
}

// recorder is an observer that records all attempts.
type recorder struct{ attempts []shard.Attempt }

func (r *recorder) ObserveAttempt(_ context.Context, a shard.Attempt) {
	r.attempts = append(r.attempts, a)
}

// pessimist is an observer that has no hope for a key.
type pessimist struct{ recorder }

func (p *pessimist) Hopeless(a shard.Attempt) bool { return a.Key == "C#a" }

// TestHopelessAttemptIsLast checks that a throttled attempt is a call's last if the observer says so, and that other errors
// and other observers change nothing.
func TestHopelessAttemptIsLast(t *testing.T) {
	for name, c := range map[string]struct {
		observer shard.Observer
		key      string
		err      error
		want     int // attempts
	}{
		"hopeless":         {&pessimist{}, "C#a", libtest.Hot(libtest.TableHot), 1},
		"another key":      {&pessimist{}, "C#b", libtest.Hot(libtest.TableHot), 2},
		"another limit":    {&pessimist{}, "C#a", &types.InternalServerError{}, 2},
		"nothing is known": {&recorder{}, "C#a", libtest.Hot(libtest.TableHot), 2},
	} {
		call, attempts := observe.Begin(c.observer), 0
		err := dynamo.Persist(t.Context(), func(ctx context.Context) error {
			if attempts++; attempts == 2 {
				return nil
			}
			return call.Observe(ctx, shard.Attempt{Key: c.key, Kind: string(schema.Counter)}, c.err)
		})
		if attempts != c.want || (err == nil) != (c.want == 2) || err != nil && !errors.Is(err, shard.ErrThrottled) {
			t.Errorf("%s: %d attempts, %v; want %d", name, attempts, err, c.want)
		}
	}
}

// TestNewAttempt checks an attempt's values by the key's entry.
func TestNewAttempt(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	updated := now.Add(-time.Minute)
	for name, c := range map[string]struct {
		entry shardmap.Entry
		want  shard.Attempt
	}{
		"never changed": {shardmap.Entry{}, shard.Attempt{Shards: 1}},
		"changed once": {shardmap.Entry{History: shard.History{{At: updated, Count: 4}}, Version: 3, Updated: updated, Pinned: true},
			shard.Attempt{Shards: 4, Before: 1, Version: 3, Effective: updated, Changed: updated, Pinned: true}},
		"changed twice": {shardmap.Entry{History: shard.History{{At: updated, Count: 4}, {At: now, Count: 2}}}, shard.Attempt{Shards: 2, Before: 4, Effective: now}},
	} {
		c.want.Key, c.want.Kind, c.want.Shard, c.want.At = "C#a", "counter", 3, now
		if got := observe.NewAttempt(schema.Counter, "C#a", c.entry, 3, now); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestSumsAndProbes checks the sums of items by key, and the items of probes.
func TestSumsAndProbes(t *testing.T) {
	attempts := []shard.Attempt{{Key: "a", Items: 1}, {Key: "b", Items: 10}, {Key: "a", Items: 100}}
	observe.SumItems(attempts)
	var items []uint64
	for _, a := range attempts {
		items = append(items, a.Items)
	}
	if !slices.Equal(items, []uint64{101, 10, 101}) {
		t.Errorf("Items = %v, want [101 10 101]", items)
	}
	if got, want := observe.TableProbe(dynamo.Key("C#a#3", "-")), dynamo.Key("C#a#3", "~probe"); !reflect.DeepEqual(got, want) {
		t.Errorf("TableProbe = %v, want %v", got, want)
	}
	want := dynamo.Key("~probe#S#g#3", "~probe")
	want["session_shard"] = dynamo.String("S#g#3")
	if got := observe.IndexProbe("session_shard", "S#g#3"); !reflect.DeepEqual(got, want) {
		t.Errorf("IndexProbe = %v, want %v", got, want)
	}
	if a := observe.Hash("a"); a != observe.Hash("a") || a == observe.Hash("b") {
		t.Error("Hash does not tell items apart")
	}
}
