package fold

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
)

const day = 24 * time.Hour

// TestMergesWhatRests checks that only fragments are merged that were not folded into recently, and that a
// round begins a while after the last.
func TestMergesWhatRests(t *testing.T) {
	r := newCompactRig(t, nil)
	b := bucketAt("old", r.ago(60*day))
	for i := range 3 {
		r.fragment(t, b, fmt.Sprint("s", i), int64(1+i), r.ago(48*time.Hour+time.Second))
	}
	r.fragment(t, b, "young", 10, r.ago(48*time.Hour-time.Second))
	r.fragment(t, b, "undated", 20, time.Time{})
	r.want(t, compactAnswer{Buckets: 1, Merged: 3, Done: true})
	if got := r.holding(t, b); !maps.Equal(got, map[string]int64{"young": 10, "undated": 20, schema.MergedPart: 6}) {
		t.Errorf("events by fragment %v, want 10 in young, 20 in undated and 6 in the merged one", got)
	}
	r.clock = r.clock.Add(roundEvery - time.Second)
	r.want(t, compactAnswer{Done: true})
	r.clock = r.clock.Add(time.Second)
	r.want(t, compactAnswer{Buckets: 1, Merged: 1, Done: true}) // the young one into the merged one
}

// TestRunsContinue checks that a run without time stops after a page, and that the next run continues
// there, also within a rollup.
func TestRunsContinue(t *testing.T) {
	r := newCompactRig(t, func(c *compactor) { c.budget, c.pageItems = 1, 3 })
	const buckets, each = 12, 4
	for i := range buckets {
		for s := range each {
			r.fragment(t, bucketAt(fmt.Sprint("e", i), r.ago(60*day)), fmt.Sprint("s", s), 1, r.ago(59*day))
		}
	}
	var total compactAnswer
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
	r.want(t, compactAnswer{Done: true})
}

// TestFaults checks that a failed merge is logged and left to the next round. A run that ends early is
// continued by the next.
func TestFaults(t *testing.T) {
	r := newCompactRig(t, nil)
	one, two := bucketAt("one", r.ago(60*day)), bucketAt("two", r.ago(60*day))
	for _, s := range []string{"a", "b"} {
		r.fragment(t, one, s, 1, r.ago(59*day))
		r.fragment(t, two, s, 1, r.ago(59*day))
	}
	r.on.scan = outOfOrder
	if answer, err := r.run(t.Context()); err == nil || answer.Done || !strings.Contains(err.Error(), "scanning") {
		t.Fatalf("a failed scan: %+v, %v", answer, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.on = hooks{transact: func() error { cancel(); return errOutOfOrder }}
	if answer, err := r.run(ctx); err == nil || answer.Done || answer.Failed > 0 {
		t.Fatalf("canceled during a merge: %+v, %v", answer, err)
	}
	fails := 1
	r.on = hooks{transact: func() error {
		if fails--; fails >= 0 {
			return errOutOfOrder
		}
		return nil
	}}
	r.want(t, compactAnswer{Buckets: 1, Merged: 2, Failed: 1, Done: true})
	if !strings.Contains(r.logs.String(), "merging fragments of E#") || !strings.Contains(r.logs.String(), errOutOfOrder.Error()) {
		t.Errorf("the failed merge is not in the logs: %s", &r.logs)
	}
	r.clock, r.on = r.clock.Add(roundEvery), hooks{}
	r.want(t, compactAnswer{Buckets: 1, Merged: 2, Done: true})
	r.clock, r.on = r.clock.Add(roundEvery), hooks{query: outOfOrder}
	r.fragment(t, one, "c", 1, r.ago(59*day))
	r.want(t, compactAnswer{Failed: 1, Done: true})
	r.on.get = func(string, string) error { return errOutOfOrder }
	if _, err := r.run(t.Context()); err == nil || !strings.Contains(err.Error(), "reading the compaction's cursor") {
		t.Errorf("a failed read of the cursor: %v", err)
	}
}

// TestDeadlines checks that a run takes at most its budget, and three quarters of the time to its
// context's deadline.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCompactor(nil, Settings{}, nil, nil)
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
