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

func TestMergesWhatRests(t *testing.T) {
	r := newRig(t, nil)
	old := bucketAt("old", r.ago(60*day))
	for i := range 3 {
		r.part(t, old, fmt.Sprint("s", i), int64(1+i), r.ago(rest+time.Second))
	}
	r.part(t, old, "young", 10, r.ago(rest-time.Second))
	r.part(t, old, "empty", 0, r.ago(60*day))
	alone := bucketAt("alone", r.ago(60*day))
	r.part(t, alone, "s", 5, r.ago(60*day))
	undated := bucketAt("undated", r.ago(60*day))
	for i := range 2 {
		r.part(t, undated, fmt.Sprint("s", i), 1, time.Time{})
	}
	r.want(t, Answer{Buckets: 1, Merged: 3, Done: true})
	if got := r.holding(t, old); !maps.Equal(got, map[string]int64{"young": 10, schema.MergedPart: 6}) {
		t.Errorf("%v", got)
	}
	if got := r.holding(t, alone); !maps.Equal(got, map[string]int64{"s": 5}) {
		t.Errorf("a single part: %v", got)
	}
	if got := r.holding(t, undated); len(got) != 2 {
		t.Errorf("without a time: %v", got)
	}
	r.clock = r.clock.Add(roundEvery - time.Second)
	r.want(t, Answer{Done: true})
	r.clock = r.clock.Add(time.Second)
	r.want(t, Answer{Buckets: 1, Merged: 1, Done: true}) // the young one into the merged one
	if got := r.holding(t, old); !maps.Equal(got, map[string]int64{schema.MergedPart: 16}) {
		t.Errorf("a round later: %v", got)
	}
	r.clock = r.clock.Add(roundEvery)
	r.want(t, Answer{Done: true})
}

func TestMoreThanATransactionTakes(t *testing.T) {
	r := newRig(t, nil)
	b := bucketAt("e", r.ago(60*day))
	for i := range 230 {
		r.part(t, b, fmt.Sprintf("s%03d", i), 1, r.ago(59*day))
	}
	readings := 0
	r.on.query = func() error { readings++; return nil }
	r.want(t, Answer{Buckets: 1, Merged: 230, Done: true})
	if readings != 1 {
		t.Errorf("it was read %d times", readings)
	}
	if got := r.holding(t, b); !maps.Equal(got, map[string]int64{schema.MergedPart: 230}) {
		t.Errorf("%v", got)
	}
}

// TestManyFragmentsDoNotWaitForRest checks that an event rollup with more than 16 fragments is merged once it
// has been over for an hour, however recently its fragments were folded into, and that one with 16 waits.
func TestManyFragmentsDoNotWaitForRest(t *testing.T) {
	r := newRig(t, func(o *Options) { o.PageItems = 7 }) // a rollup is on several pages
	over, few, early := bucketAt("over", r.ago(2*time.Hour)), bucketAt("few", r.ago(2*time.Hour)), bucketAt("early", r.ago(time.Hour))
	for i := range 17 {
		r.part(t, over, fmt.Sprintf("s%02d", i), 1, r.ago(time.Minute))
		r.part(t, early, fmt.Sprintf("s%02d", i), 1, r.ago(time.Minute))
		if i < 16 {
			r.part(t, few, fmt.Sprintf("s%02d", i), 1, r.ago(time.Minute))
		}
	}
	r.part(t, few, schema.MergedPart, 5, r.ago(time.Minute))
	r.want(t, Answer{Buckets: 1, Merged: 17, Done: true})
	if got := r.holding(t, over); !maps.Equal(got, map[string]int64{schema.MergedPart: 17}) {
		t.Errorf("%v", got)
	}
	if x, y := len(r.holding(t, few)), len(r.holding(t, early)); x != 17 || y != 17 {
		t.Errorf("%d fragments are left of few, %d of the one that ended less than an hour ago", x, y)
	}
	read, err := r.events.Read(t.Context(), over.Key())
	if err != nil || len(read) != 18 {
		t.Fatalf("%d fragments, %v", len(read), err)
	}
	for _, p := range read[:17] {
		if p.Sequence != fmt.Sprintf("%040d", 7)+schema.EmptiedSuffix || p.ExpiresAt != r.clock.Add(schema.EmptiedLifetime).Unix() {
			t.Errorf("%s keeps %q until %d", p.StreamShard, p.Sequence, p.ExpiresAt)
		}
	}
}

// TestRunsGoOn: a run that is out of time stops after a page, and the next goes on
// there, also inside a bucket.
func TestRunsGoOn(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Budget, o.PageItems = 1, 3 })
	const buckets, each = 12, 4
	for i := range buckets {
		for s := range each {
			r.part(t, bucketAt(fmt.Sprint("e", i), r.ago(60*day)), fmt.Sprint("s", s), 1, r.ago(59*day))
		}
	}
	var total Answer
	runs := 0
	for ; !total.Done; runs++ {
		if runs > 100 {
			t.Fatal("it does not come to an end")
		}
		answer := r.must(t)
		total.Merged += answer.Merged
		total.Done = answer.Done
	}
	if runs < buckets*each/3 || total.Merged != buckets*each {
		t.Errorf("%d runs merged %d parts", runs, total.Merged)
	}
	r.want(t, Answer{Done: true})
}

func TestAFoldMeanwhile(t *testing.T) {
	r := newRig(t, nil)
	b := bucketAt("e", r.ago(60*day))
	r.part(t, b, "a", 1, r.ago(59*day))
	r.part(t, b, "b", 2, r.ago(59*day))
	r.on.transact = func() error {
		pk, sk := schema.RollupKey(b.Entity, b.Width, b.Start, "b")
		stored := dynamo.Key(pk, sk)
		stored["seq"], stored["v"], stored["events"], stored["measures"], stored["as_of"] = dynamo.String("8"), dynamo.Number(1), dynamo.Number(3), emptyMap, dynamo.Number(r.clock.UnixMilli())
		r.put(t, r.names.Rollups, stored)
		return nil
	}
	r.want(t, Answer{Done: true})
	if got := r.holding(t, b); !maps.Equal(got, map[string]int64{"a": 1, "b": 3}) || r.logs.Len() > 0 {
		t.Errorf("%v; logs: %s", got, &r.logs)
	}
}

func TestWhatExpiredCountsForNothing(t *testing.T) {
	r := newRig(t, func(o *Options) { o.Retention = 70 * day })
	b := bucketAt("e", r.ago(60*day))
	for i, s := range []string{"a", "b", "c", schema.MergedPart} {
		r.part(t, b, s, 1<<i, r.ago(59*day))
	}
	for _, s := range []string{"c", schema.MergedPart} {
		pk, sk := schema.RollupKey(b.Entity, b.Width, b.Start, s)
		r.expire(t, pk, sk, r.ago(time.Second))
	}
	r.want(t, Answer{Buckets: 1, Merged: 2, Done: true})
	if got := r.holding(t, b); !maps.Equal(got, map[string]int64{"c": 4, schema.MergedPart: 3}) {
		t.Errorf("%v", got)
	}
}

// TestFaults: what fails is logged and left, and what is not reached is reached by
// the next run.
func TestFaults(t *testing.T) {
	r := newRig(t, nil)
	one, two := bucketAt("one", r.ago(60*day)), bucketAt("two", r.ago(60*day))
	for _, s := range []string{"a", "b"} {
		r.part(t, one, s, 1, r.ago(59*day))
		r.part(t, two, s, 1, r.ago(59*day))
	}
	r.on.scan = broken
	if answer, err := r.Run(t.Context()); err == nil || answer.Done || !strings.Contains(err.Error(), "scanning") {
		t.Fatalf("%+v, %v", answer, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.on = hooks{transact: func() error { cancel(); return errBroken }}
	if answer, err := r.Run(ctx); err == nil || answer.Done || answer.Failed > 0 {
		t.Fatalf("ended in between: %+v, %v", answer, err)
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
		t.Errorf("logs: %s", &r.logs)
	}
	r.clock, r.on = r.clock.Add(roundEvery), hooks{}
	r.want(t, Answer{Buckets: 1, Merged: 2, Done: true})
	r.on.get = func(string) error { return errBroken }
	if _, err := r.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "reading the cursor") {
		t.Errorf("got %v", err)
	}
}

// TestDeadlines: a run takes three quarters of what its context has left, or its
// budget.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{RollupsTable: "t"}, nil, nil, nil)
		begun := time.Now()
		if got := c.end(t.Context(), begun).Sub(begun); got != 5*time.Minute {
			t.Errorf("without a deadline %v", got)
		}
		for left, want := range map[time.Duration]time.Duration{time.Minute: 45 * time.Second, 15 * time.Minute: 5 * time.Minute} {
			ctx, cancel := context.WithDeadline(t.Context(), begun.Add(left))
			if got := c.end(ctx, begun).Sub(begun); got != want {
				t.Errorf("with %v left %v, want %v", left, got, want)
			}
			cancel()
		}
	})
}
