package compact

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
)

const day = 24 * time.Hour

// TestMergesWhatRests checks that only fragments are merged that were not folded into recently, and only
// several at a time.
func TestMergesWhatRests(t *testing.T) {
	r := newRig(t, nil)
	old := bucketAt("old", r.ago(60*day))
	for i := range 3 {
		r.fragment(t, old, fmt.Sprint("s", i), int64(1+i), r.ago(48*time.Hour+time.Second))
	}
	r.fragment(t, old, "young", 10, r.ago(48*time.Hour-time.Second))
	r.fragment(t, old, "empty", 0, r.ago(60*day))
	r.fragment(t, old, "undated", 20, time.Time{})
	alone := bucketAt("alone", r.ago(60*day))
	r.fragment(t, alone, "s", 5, r.ago(60*day))
	undated := bucketAt("undated", r.ago(60*day))
	for i := range 2 {
		r.fragment(t, undated, fmt.Sprint("s", i), 1, time.Time{})
	}
	r.want(t, Answer{Buckets: 1, Merged: 3, Done: true})
	if got := r.holding(t, old); !maps.Equal(got, map[string]int64{"young": 10, "undated": 20, schema.MergedPart: 6}) {
		t.Errorf("events by fragment %v, want 10 in young, 20 in undated and 6 in the merged one", got)
	}
	if got := r.holding(t, alone); !maps.Equal(got, map[string]int64{"s": 5}) {
		t.Errorf("a single fragment: %v, want it unchanged", got)
	}
	if got := r.holding(t, undated); len(got) != 2 {
		t.Errorf("fragments without a time: %v, want both unchanged", got)
	}
	r.clock = r.clock.Add(roundEvery - time.Second)
	r.want(t, Answer{Done: true})
	r.clock = r.clock.Add(time.Second)
	r.want(t, Answer{Buckets: 1, Merged: 1, Done: true}) // the young one into the merged one
	if got := r.holding(t, old); !maps.Equal(got, map[string]int64{"undated": 20, schema.MergedPart: 16}) {
		t.Errorf("a round later: %v, want 16 in the merged fragment", got)
	}
	r.clock = r.clock.Add(roundEvery)
	r.want(t, Answer{Done: true})
}

// TestMoreThanATransactionTakes checks that one read is enough for a merge of several transactions.
func TestMoreThanATransactionTakes(t *testing.T) {
	r := newRig(t, nil)
	b := bucketAt("e", r.ago(60*day))
	for i := range 230 {
		r.fragment(t, b, fmt.Sprintf("s%03d", i), 1, r.ago(59*day))
	}
	reads := 0
	r.on.query = func() error { reads++; return nil }
	r.want(t, Answer{Buckets: 1, Merged: 230, Done: true})
	if reads != 1 {
		t.Errorf("the rollup was read %d times, want once", reads)
	}
	if got := r.holding(t, b); !maps.Equal(got, map[string]int64{schema.MergedPart: 230}) {
		t.Errorf("events by fragment %v, want 230 in the merged one", got)
	}
}

// TestManyFragmentsDoNotWaitForRest checks that an event rollup with more than 16 fragments is merged an hour
// after its end, although it does not rest. One with 16 waits.
func TestManyFragmentsDoNotWaitForRest(t *testing.T) {
	r := newRig(t, func(o *Options) { o.PageItems = 7 }) // a rollup is on several pages
	over, few, early := bucketAt("over", r.ago(2*time.Hour)), bucketAt("few", r.ago(2*time.Hour)), bucketAt("early", r.ago(time.Hour))
	for i := range 17 {
		r.fragment(t, over, fmt.Sprintf("s%02d", i), 1, r.ago(time.Minute))
		r.fragment(t, early, fmt.Sprintf("s%02d", i), 1, r.ago(time.Minute))
		if i < 16 {
			r.fragment(t, few, fmt.Sprintf("s%02d", i), 1, r.ago(time.Minute))
		}
	}
	r.fragment(t, few, schema.MergedPart, 5, r.ago(time.Minute))
	r.want(t, Answer{Buckets: 1, Merged: 17, Done: true})
	if got := r.holding(t, over); !maps.Equal(got, map[string]int64{schema.MergedPart: 17}) {
		t.Errorf("events by fragment %v, want 17 in the merged one", got)
	}
	if x, y := len(r.holding(t, few)), len(r.holding(t, early)); x != 17 || y != 17 {
		t.Errorf("%d fragments of few and %d of early, want 17 of each", x, y)
	}
	read, err := r.events.Read(t.Context(), over.Key())
	if err != nil || len(read) != 18 {
		t.Fatalf("%d fragments, %v", len(read), err)
	}
	for _, p := range read[:17] {
		if p.Sequence != sequence+schema.EmptiedSuffix || p.ExpiresAt != r.clock.Add(schema.EmptiedLifetime).Unix() {
			t.Errorf("%s keeps %q until %d", p.StreamShard, p.Sequence, p.ExpiresAt)
		}
	}
}

// TestRunsContinue checks that a run without time stops after a page, and that the next run continues
// there, also within a rollup.
func TestRunsContinue(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Budget, o.PageItems = 1, 3 })
	const buckets, each = 12, 4
	for i := range buckets {
		for s := range each {
			r.fragment(t, bucketAt(fmt.Sprint("e", i), r.ago(60*day)), fmt.Sprint("s", s), 1, r.ago(59*day))
		}
	}
	var total Answer
	runs := 0
	for ; !total.Done; runs++ {
		if runs > 100 {
			t.Fatal("100 runs did not finish the table")
		}
		answer := r.must(t)
		total.Merged += answer.Merged
		total.Done = answer.Done
	}
	if runs < buckets*each/3 || total.Merged != buckets*each {
		t.Errorf("%d runs merged %d fragments, want %d or more and %d", runs, total.Merged, buckets*each/3, buckets*each)
	}
	r.want(t, Answer{Done: true})
}

// TestFoldDuringAMerge checks that a merge gives way to a fold that comes after its read.
func TestFoldDuringAMerge(t *testing.T) {
	r := newRig(t, nil)
	b := bucketAt("e", r.ago(60*day))
	r.fragment(t, b, "a", 1, r.ago(59*day))
	r.fragment(t, b, "b", 2, r.ago(59*day))
	r.on.transact = func() error {
		pk, sk := schema.RollupKey(b.Entity, b.Width, b.Start, "b")
		stored := dynamo.Key(pk, sk)
		stored["seq"], stored["v"], stored["events"], stored["measures"], stored["as_of"] = dynamo.String("8"), dynamo.Number(1), dynamo.Number(3), emptyMap, dynamo.Number(r.clock.UnixMilli())
		r.put(t, r.names.Rollups, stored)
		return nil
	}
	r.want(t, Answer{Done: true})
	if got := r.holding(t, b); !maps.Equal(got, map[string]int64{"a": 1, "b": 3}) || r.logs.Len() > 0 {
		t.Errorf("events by fragment %v, want 1 in a and 3 in b; logs: %s", got, &r.logs)
	}
}

// TestExpiredFragmentsAreNotMerged checks that neither an expired fragment nor an expired merged one is
// in the new sum.
func TestExpiredFragmentsAreNotMerged(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Retention = 70 * day })
	b := bucketAt("e", r.ago(60*day))
	for i, s := range []string{"a", "b", "c", schema.MergedPart} {
		r.fragment(t, b, s, 1<<i, r.ago(59*day))
	}
	for _, s := range []string{"c", schema.MergedPart} {
		pk, sk := schema.RollupKey(b.Entity, b.Width, b.Start, s)
		r.expire(t, pk, sk, r.ago(time.Second))
	}
	r.want(t, Answer{Buckets: 1, Merged: 2, Done: true})
	if got := r.holding(t, b); !maps.Equal(got, map[string]int64{"c": 4, schema.MergedPart: 3}) {
		t.Errorf("events by fragment %v, want 4 in c and 3 in the merged one", got)
	}
}

// TestFaults checks that a failed merge is logged and left to the next round. A run that ends early is
// continued by the next.
func TestFaults(t *testing.T) {
	r := newRig(t, nil)
	one, two := bucketAt("one", r.ago(60*day)), bucketAt("two", r.ago(60*day))
	for _, s := range []string{"a", "b"} {
		r.fragment(t, one, s, 1, r.ago(59*day))
		r.fragment(t, two, s, 1, r.ago(59*day))
	}
	r.on.scan = broken
	if answer, err := r.Run(t.Context()); err == nil || answer.Done || !strings.Contains(err.Error(), "scanning") {
		t.Fatalf("a failed scan: %+v, %v", answer, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.on = hooks{transact: func() error { cancel(); return errBroken }}
	if answer, err := r.Run(ctx); err == nil || answer.Done || answer.Failed > 0 {
		t.Fatalf("canceled during a merge: %+v, %v", answer, err)
	}
	fails := 1
	r.on = hooks{transact: func() error {
		if fails--; fails >= 0 {
			return errBroken
		}
		return nil
	}}
	r.want(t, Answer{Buckets: 1, Merged: 2, Failed: 1, Done: true})
	if !strings.Contains(r.logs.String(), "merging fragments of E#") || !strings.Contains(r.logs.String(), errBroken.Error()) {
		t.Errorf("the failed merge is not in the logs: %s", &r.logs)
	}
	r.clock, r.on = r.clock.Add(roundEvery), hooks{}
	r.want(t, Answer{Buckets: 1, Merged: 2, Done: true})
	r.clock, r.on = r.clock.Add(roundEvery), hooks{query: broken}
	r.fragment(t, one, "c", 1, r.ago(59*day))
	r.want(t, Answer{Failed: 1, Done: true})
	r.on.get = func(string, string) error { return errBroken }
	if _, err := r.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "reading the cursor") {
		t.Errorf("a failed read of the cursor: %v", err)
	}
}

// TestDeadlines checks that a run takes at most its budget, and three quarters of the time to its
// context's deadline.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{RollupsTable: "t"}, nil, nil, nil)
		begun := time.Now()
		if got := c.deadline(t.Context(), begun).Sub(begun); got != 5*time.Minute {
			t.Errorf("without a deadline %v", got)
		}
		for left, want := range map[time.Duration]time.Duration{time.Minute: 45 * time.Second, 15 * time.Minute: 5 * time.Minute} {
			ctx, cancel := context.WithDeadline(t.Context(), begun.Add(left))
			if got := c.deadline(ctx, begun).Sub(begun); got != want {
				t.Errorf("with %v left %v, want %v", left, got, want)
			}
			cancel()
		}
	})
}
