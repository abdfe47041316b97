package limits_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/limits"
)

// keyed stands for the call HitTransact in place of a number of hits.
const keyed = -1

// do makes a call of n hits, or keyed.
func do(t *testing.T, l *limits.Limiter, limit limits.Limit, n int64, now time.Time) (v limits.Verdict, err error) {
	switch n {
	case keyed:
		_, list, err := l.HitTransact(t.Context(), []limits.Hits{{Limit: limit, N: 1}}, now)
		if err != nil {
			return v, err
		}
		return list[0], nil
	case 1:
		return l.Hit(t.Context(), limit, now)
	}
	return l.HitN(t.Context(), limit, n, now)
}

// later is a change of the shard count after the windows of a day have begun.
func later(count int) string {
	return fmt.Sprintf("%d:%d", libtest.Later.Add(time.Second).Unix(), count)
}

// TestCallsOfHits checks the calls of DynamoDB that hits of a window of a day cost, and their verdicts, step by step.
func TestCallsOfHits(t *testing.T) {
	type step struct {
		by      int   // the process
		n       int64 // hits, or keyed
		times   int
		after   time.Duration
		allowed bool
		used    int64
		want    calls // of all times
	}
	for name, c := range map[string]struct {
		history []string
		used    []int64 // by write shard, at first
		limit   int64
		steps   []step
	}{
		"one write shard": {nil, nil, 3, []step{
			{0, 1, 3, 0, true, 3, calls{3, 0, 0}}, {0, 1, 9, 0, false, 3, calls{}}, {0, 2, 1, 0, false, 3, calls{}},
			{0, keyed, 1, 0, false, 3, calls{}}, {1, 1, 1, 0, false, 3, calls{1, 0, 0}}, {1, 1, 1, 0, false, 3, calls{}},
			{2, keyed, 1, 0, false, 3, calls{0, 0, 1}}, {2, keyed, 1, 0, false, 3, calls{}}, {3, 2, 1, 0, false, 3, calls{1, 0, 0}},
		}},
		"eight, used by this process": {[]string{"1:8"}, nil, 80, []step{
			{0, 1, 1, 0, true, 1, calls{1, 0, 8}}, {0, 1, 1, 999 * time.Millisecond, true, 2, calls{1, 0, 0}}, {0, 1, 1, time.Second, true, 3, calls{1, 0, 8}},
			{0, 77, 1, time.Second, true, 80, calls{0, 1, 0}}, {0, 1, 1, time.Second, false, 80, calls{}}, {0, keyed, 1, time.Hour, false, 80, calls{0, 0, 8}},
		}},
		"eight, used by others": {[]string{"1:8"}, []int64{10, 10, 10, 10, 10, 10, 10, 10}, 80, []step{
			{0, 1, 1, 0, false, 80, calls{3, 0, 8}}, {0, 1, 1, 0, false, 80, calls{}}, {1, 5, 1, 0, false, 80, calls{1, 0, 8}}, {1, 5, 1, 0, false, 80, calls{}},
			{2, keyed, 1, 0, false, 80, calls{0, 0, 8}}, {2, keyed, 1, 0, false, 80, calls{}}, {3, keyed, 1, 0, false, 80, calls{0, 0, 8}},
		}},
		"64": {[]string{"1:64"}, nil, 6400, []step{
			{0, 1, 1, 0, true, 1, calls{1, 0, 64}}, {0, 1, 1, 3999 * time.Millisecond, true, 2, calls{1, 0, 0}}, {0, 1, 1, 4 * time.Second, true, 3, calls{1, 0, 64}},
			{0, keyed, 1, 0, true, 4, calls{0, 0, 64}},
		}},
		// Hits go to write shard 1, with quota that write shard 0 gives: half of what it has.
		"it grows to two": {[]string{later(2)}, nil, 100, []step{
			{0, 1, 1, 0, true, 1, calls{1, 1, 2}}, {0, 1, 49, 0, true, 50, calls{49, 0, 0}}, {0, 1, 25, 0, true, 75, calls{24, 1, 0}}, {0, 1, 12, 0, true, 87, calls{11, 1, 0}},
			{0, 1, 6, 0, true, 93, calls{5, 1, 0}}, {0, 1, 3, 0, true, 96, calls{2, 1, 0}}, {0, 1, 2, 0, true, 98, calls{1, 1, 0}}, {0, 1, 2, 0, true, 100, calls{2, 0, 0}},
			{0, 1, 2, 0, false, 100, calls{}},
		}},
		"it grows, several hits": {[]string{later(2)}, nil, 100, []step{
			{0, 7, 1, 0, true, 7, calls{0, 1, 2}}, {0, 43, 1, 0, true, 50, calls{1, 0, 0}}, {0, 20, 1, 0, true, 70, calls{0, 1, 0}}, {0, 40, 1, 0, false, 70, calls{}}, {0, 30, 1, 0, true, 100, calls{0, 1, 0}},
		}},
		"it grows, hit by two": {[]string{later(2)}, nil, 100, []step{
			{0, 1, 1, 0, true, 1, calls{1, 1, 2}}, {1, 49, 1, 0, true, 50, calls{0, 1, 2}}, {1, 1, 1, 0, true, 51, calls{1, 0, 0}}, {0, 1, 1, 0, true, 2, calls{1, 0, 0}}, {0, 60, 1, 0, false, 52, calls{}},
		}},
		"it has grown":                  {[]string{later(2)}, []int64{50, -49}, 100, []step{{0, 1, 1, 0, true, 2, calls{1, 0, 2}}, {0, 48, 1, 0, true, 50, calls{1, 0, 0}}}},
		"it has grown, used by others":  {[]string{later(2)}, []int64{100, 0}, 100, []step{{0, 1, 1, 0, false, 100, calls{1, 1, 2}}, {0, 1, 1, 0, false, 100, calls{}}, {1, 1, 1, 0, false, 100, calls{1, 1, 2}}}},
		"it has grown, read before":     {[]string{later(2)}, []int64{100, 0}, 100, []step{{0, keyed, 1, 0, false, 100, calls{0, 0, 2}}, {0, 1, 1, 0, false, 100, calls{}}}},
		"it has grown, several at once": {[]string{later(2)}, []int64{100, -5}, 100, []step{{0, 6, 1, 0, false, 95, calls{0, 1, 2}}, {0, 5, 1, 0, true, 100, calls{1, 0, 0}}}},
		"it has grown, by two plans":    {[]string{later(2)}, []int64{5}, 8, []step{{0, 3, 1, 0, true, 8, calls{1, 1, 2}}}},
		"it shrinks":                    {[]string{"1:3", later(1)}, nil, 9, []step{{0, 1, 9, 0, true, 9, calls{9, 0, 3}}, {0, 1, 1, 0, false, 9, calls{}}}},
	} {
		s, processes := newStore(c.history...), map[int]*limits.Limiter{}
		s.set(c.used...)
		limit := limits.Limit{Key: "k", Max: c.limit, Window: 24 * time.Hour}
		for i, step := range c.steps {
			if processes[step.by] == nil {
				processes[step.by] = s.limiter(nil)
			}
			var v limits.Verdict
			var err error
			for range step.times {
				v, err = do(t, processes[step.by], limit, step.n, libtest.Later.Add(2*time.Second+step.after))
				if err != nil || v.Allowed != step.allowed {
					t.Fatalf("%s, step %d: %+v, %v; want allowed: %t", name, i, v, err, step.allowed)
				}
			}
			want := limits.Verdict{Allowed: step.allowed, Used: step.used, Remaining: c.limit - step.used, Resets: libtest.Later.Add(12 * time.Hour)}
			if !step.allowed {
				want.Retry = want.Resets
			}
			if got := s.reset(); v != want || got != step.want {
				t.Errorf("%s, step %d: %+v after %+v; want %+v after %+v", name, i, v, got, want, step.want)
			}
		}
	}
}

// TestCallsOfSeveralLimits checks the calls of DynamoDB that hits of two limits of the key k cost, one of a day and one of a month.
func TestCallsOfSeveralLimits(t *testing.T) {
	for shards, steps := range map[int][]struct {
		day, month int64
		after      time.Duration
		allowed    bool
		used       int64 // of the day
		want       calls
	}{
		1: {
			{1, 5, 0, true, 1, calls{0, 1, 2}}, {2, 5, 0, true, 3, calls{0, 1, 0}}, {1, 100, 0, false, 3, calls{0, 0, 0}}, {98, 1, 0, false, 3, calls{0, 0, 0}},
			{-2, -10, 0, true, 1, calls{0, 1, 0}}, {-9, 3, 0, true, 0, calls{0, 1, 1}}, {1, 1, time.Second, true, 1, calls{0, 1, 2}},
		},
		8: {{1, 5, 0, true, 1, calls{0, 1, 16}}, {1, 1, 0, true, 2, calls{0, 1, 0}}, {80, 1, 0, true, 82, calls{0, 1, 0}}, {60, 1, 0, false, 82, calls{0, 0, 0}}},
	} {
		s := newStore(fmt.Sprint("1:", shards))
		l := s.limiter(nil)
		for i, c := range steps {
			list, err := l.HitAll(t.Context(), []limits.Hits{
				{Limit: limits.Limit{Key: "k", Max: 100, Window: 24 * time.Hour}, N: c.day}, {Limit: limits.Limit{Key: "k", Max: 100, Window: limits.Month}, N: c.month},
			}, libtest.Later.Add(c.after))
			if err != nil {
				t.Fatal(err)
			}
			if got := s.reset(); list[0].Allowed && list[1].Allowed != c.allowed || list[0].Used != c.used || got != c.want {
				t.Errorf("%d write shards, step %d: %+v after %+v; want %+v", shards, i, list, got, c)
			}
		}
	}
}

// TestUsedIsOfNoDelay checks that a hit is answered although the other write shards can't be read to know Used.
func TestUsedIsOfNoDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, begun := newStore("1:8"), time.Now()
		s.hangs = true
		v, err := s.limiter(nil).Hit(t.Context(), limits.Limit{Key: "k", Max: 80, Window: 24 * time.Hour}, libtest.Later)
		if took := time.Since(begun); err != nil || !v.Allowed || v.Used != 1 || took != 250*time.Millisecond {
			t.Errorf("%+v, %v after %v; want one hit after 250ms", v, err, took)
		}
	})
}

// TestRejectedHitsAreNotUsed checks that a call whose first attempt was made, and lost its answer, is no rejection.
func TestRejectedHitsAreNotUsed(t *testing.T) {
	day, month := limits.Limit{Key: "k", Max: 5, Window: 24 * time.Hour}, limits.Limit{Key: "k", Max: 9, Window: limits.Month}
	for _, hits := range [][]limits.Hits{{{Limit: day, N: 5}}, {{Limit: day, N: 3}, {Limit: month, N: 9}}} {
		s, lost := newStore(), false
		s.after = func() error {
			if lost {
				return nil
			}
			lost = true
			return libtest.LostAnswer{}
		}
		if list, err := s.limiter(nil).HitAll(t.Context(), hits, libtest.Later); !errors.Is(err, shard.ErrUnavailable) {
			t.Errorf("%+v: %+v, %v; want ErrUnavailable", hits, list, err)
		}
	}
}

// TestUsedOfOneWriteShardIsExact checks Used after hits of others, also of calls that write nothing or several limits.
func TestUsedOfOneWriteShardIsExact(t *testing.T) {
	s := newStore()
	one, other := s.limiter(nil), s.limiter(nil)
	limit, month := limits.Limit{Key: "k", Max: 20, Window: 24 * time.Hour}, limits.Limit{Key: "k", Max: 20, Window: limits.Month}
	for i, step := range []struct {
		by      *limits.Limiter
		n       int64
		also    bool // one hit of the month
		allowed bool
		used    int64
	}{
		{one, 10, false, true, 10}, {other, -9, false, true, 1}, {one, 1, false, true, 2}, {one, 19, false, false, 2},
		{other, 8, false, true, 10}, {one, 1, false, true, 11}, {one, 1, true, true, 12},
	} {
		hits := []limits.Hits{{Limit: limit, N: step.n}}
		if step.also {
			hits = append(hits, limits.Hits{Limit: month, N: 1})
		}
		list, err := step.by.HitAll(t.Context(), hits, libtest.Later)
		if err != nil || list[0].Allowed != step.allowed || list[0].Used != step.used {
			t.Errorf("step %d: %+v, %v; want %+v", i, list, err, step)
		}
	}
}

// TestLimitsOfACall checks which limits are the same, and hits that are too many for a transaction or for the limit.
func TestLimitsOfACall(t *testing.T) {
	of := func(key string, window time.Duration) limits.Hits {
		return limits.Hits{Limit: limits.Limit{Key: key, Max: 9, Window: window}, N: 1}
	}
	for _, row := range []struct {
		hits []limits.Hits
		ok   bool
	}{
		{[]limits.Hits{of("u1", time.Hour), of("u13", 10*time.Minute)}, true},
		{[]limits.Hits{of("a", time.Minute), of("a6", limits.Month)}, true},
		{[]limits.Hits{of("a", time.Minute), of("a", 60*time.Second)}, false},
	} {
		if _, err := newStore().limiter(nil).HitAll(t.Context(), row.hits, libtest.Later); (err == nil) != row.ok {
			t.Errorf("%+v: %v", row.hits, err)
		}
	}

	s, give := newStore("1:16"), []limits.Hits{{Limit: limits.Limit{Key: "k", Max: 1600, Window: 24 * time.Hour}, N: -16}}
	s.set(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
	for i := range limits.MaxLimits - 1 {
		give = append(give, of(fmt.Sprint("other", i), time.Hour))
	}
	before := s.total("R#k")
	if list, err := s.limiter(nil).HitAll(t.Context(), give, libtest.Later); err != nil || list[0].Allowed || s.total("R#k") != before {
		t.Errorf("more write shards than a transaction has for it give back: %+v, %v, %d of %d hits left", list[0], err, s.total("R#k"), before)
	}

	sliding := limits.Limit{Key: "k", Max: 1000, Window: time.Hour, Sliding: true}
	l := newStore().limiter(nil)
	now := libtest.Later.Add(10 * time.Minute)
	if _, err := l.HitN(t.Context(), sliding, 3, now); err != nil {
		t.Fatal(err)
	}
	sliding.Max = 1
	if v, err := l.HitN(t.Context(), sliding, math.MaxInt64, now); err != nil || v.Allowed || !v.Retry.After(now) {
		t.Errorf("%+v, %v; want a rejection until later than %v", v, err, now)
	}
}
