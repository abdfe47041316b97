package shard

import (
	"math"
	"testing"
)

// TestSpreads compares statistics and verdicts of counts with figures that the comments calculate.
func TestSpreads(t *testing.T) {
	for _, c := range []struct {
		name    string
		counts  []int64
		max     float64
		where   int
		verdict Verdict
	}{
		{"no write shard", nil, 0, 0, Unsharded},
		{"one", []int64{7}, 0, 0, Unsharded},
		{"nothing", []int64{0, 0, 0}, 0, 0, TooFew},
		{"equal", []int64{50, 50}, 0, 0, Even},
		{"chance", []int64{60, 40}, 0.2, 0, Even},
		{"few", []int64{8, 1}, 7. / 9, 0, TooFew},
		{"all on one", []int64{0, 0, 100, 0}, 3, 2, Uneven},
		{"significant and small", []int64{1_020_000, 980_000}, 0.02, 0, Even},
	} {
		s := SpreadOf(c.counts)
		if math.Abs(s.MaxDeviation-c.max) > 1e-12 || s.Furthest != c.where || s.Verdict() != c.verdict {
			t.Errorf("%s: %+v, %s; want deviation %v of %d, %s", c.name, s, s.Verdict(), c.max, c.where, c.verdict)
		}
	}
}
