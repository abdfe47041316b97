package limits_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/limits"
)

// hitLog allows a hit if it finds fewer than most in the last hour. It reads first and writes afterwards, as programs do that keep an
// item for each hit, here on ten write shards: calls of one time don't see each other.
type hitLog struct {
	most   int
	shards [10][]time.Time
}

func (l *hitLog) hit(at time.Time, n int) bool {
	found := 0
	for _, hits := range l.shards {
		for _, hit := range hits {
			if hit.Before(at) && hit.After(at.Add(-time.Hour)) {
				found++
			}
		}
	}
	if found < l.most {
		l.shards[n%10] = append(l.shards[n%10], at)
	}
	return found < l.most
}

// densest returns the most times within any hour.
func densest(times []time.Time) (most int) {
	first := 0
	for i, at := range times {
		for !times[first].After(at.Add(-time.Hour)) {
			first++
		}
		most = max(most, i+1-first)
	}
	return most
}

// TestSlidingError checks how many hits of a limit of 100 an hour are allowed in all, and in the densest hour: by a fixed window, a
// sliding one, and a log of all hits. docs/decisions/limits.md has these figures.
func TestSlidingError(t *testing.T) {
	begin := libtest.Later.Truncate(time.Hour)
	// every returns n attempts from a time on, with a pause between them, and several at a time.
	every := func(from, pause time.Duration, n, several int) (list []time.Time) {
		for i := range n {
			list = append(list, begin.Add(from+time.Duration(i/several)*pause))
		}
		return list
	}
	for name, c := range map[string]struct {
		attempts []time.Time
		want     string // allowed and densest: fixed, sliding, log
	}{
		"even, half the limit":                 {every(0, 72*time.Second, 200, 1), "200 50, 200 50, 200 50, "},
		"even, twice the limit":                {every(0, 18*time.Second, 800, 1), "400 100, 397 100, 400 100, "},
		"even, 30 times, thirty at a time":     {every(0, 36*time.Second, 12_000, 30), "400 100, 397 100, 480 120, "},
		"a burst on either side of an edge":    {every(59*time.Minute, 300*time.Millisecond, 400, 1), "200 200, 101 101, 100 100, "},
		"a burst before the edge, then even":   {append(every(59*time.Minute, 300*time.Millisecond, 200, 1), every(time.Hour, 18*time.Second, 600, 1)...), "400 200, 397 198, 303 100, "},
		"a burst in the middle, then nothing":  {every(30*time.Minute, 300*time.Millisecond, 400, 1), "100 100, 100 100, 100 100, "},
		"a burst in the middle, then even":     {append(every(30*time.Minute, 300*time.Millisecond, 200, 1), every(31*time.Minute, 18*time.Second, 700, 1)...), "403 200, 399 149, 400 100, "},
		"bursts in the middle of every window": {slices.Concat(every(30*time.Minute, 300*time.Millisecond, 200, 1), every(90*time.Minute, 300*time.Millisecond, 200, 1), every(150*time.Minute, 300*time.Millisecond, 200, 1)), "300 100, 226 100, 300 100, "},
	} {
		l, log := newStore().limiter(nil), &hitLog{most: 100}
		var allowed [3][]time.Time
		for i, at := range c.attempts {
			for which, window := range []limits.Limit{{Key: "fixed", Max: 100, Window: time.Hour}, {Key: "k", Max: 100, Window: time.Hour, Sliding: true}} {
				if mustHit(t, l, window, at).Allowed {
					allowed[which] = append(allowed[which], at)
				}
			}
			if log.hit(at, i) {
				allowed[2] = append(allowed[2], at)
			}
		}
		got := ""
		for _, times := range allowed {
			got += fmt.Sprintf("%d %d, ", len(times), densest(times))
		}
		if got != c.want {
			t.Errorf("%s: %s want %s", name, got, c.want)
		}
	}
}
