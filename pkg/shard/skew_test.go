package shard

import (
	"math"
	"testing"
)

// TestChiSquareTail compares the tail with values that mpmath calculated with 30 digits:
// gammainc(k/2, x/2, regularized=True).
func TestChiSquareTail(t *testing.T) {
	for _, c := range []struct {
		x       float64
		degrees int
		want    float64
	}{
		{3.841458820694124, 1, 0.050000000000000057},
		{0.5, 1, 0.47950012218695346},
		{18.30703805327515, 10, 0.049999999999999952},
		{2.5, 3, 0.47529108334302059},
		{1, 2, 0.60653065971263342},
		{700, 999, 0.99999999999996537},
		{1099.5, 999, 0.014193079661873229},
		{1e-09, 5, 1.0},
		{2000, 9, 1.3848253766486012e-425},
		{1300, 999, 3.3982174965154815e-10},
		{123.4, 99, 0.048902311511807317},
		{5000, 400, 7.8343939437595642e-783},
	} {
		if got := chiSquareTail(c.x, c.degrees); math.Abs(got-c.want) > 1e-10*c.want {
			t.Errorf("the tail of %v with %d degrees is %v, want %v", c.x, c.degrees, got, c.want)
		}
	}
}

// TestSpreads compares statistics and verdicts of counts with figures that the comments calculate.
func TestSpreads(t *testing.T) {
	for _, c := range []struct {
		name    string
		counts  []int64
		max     float64
		where   int
		chi, p  float64
		verdict Verdict
	}{
		{"no write shard", nil, 0, 0, 0, 1, Unsharded},
		{"one", []int64{7}, 0, 0, 0, 1, Unsharded},
		{"nothing", []int64{0, 0, 0}, 0, 0, 0, 1, TooFew},
		{"equal", []int64{50, 50}, 0, 0, 0, 1, Even},
		// (60-50)^2/50 + (40-50)^2/50; erfc(sqrt(2)).
		{"chance", []int64{60, 40}, 0.2, 0, 4, 0.0455002638963584, Even},
		{"few", []int64{8, 1}, 7. / 9, 0, 49. / 9, 0.01963065725000, TooFew},
		// 25^2/25 * 3 + 75^2/25, over 3 degrees.
		{"all on one", []int64{0, 0, 100, 0}, 3, 2, 300, 9.9e-65, Uneven},
		{"significant and small", []int64{1_020_000, 980_000}, 0.02, 0, 800, 5.3958656e-176, Even},
	} {
		s := SpreadOf(c.counts)
		if math.Abs(s.MaxDeviation-c.max) > 1e-12 || s.Furthest != c.where || math.Abs(s.ChiSquare-c.chi) > 1e-9 || s.Verdict() != c.verdict {
			t.Errorf("%s: %+v, %s; want deviation %v of %d, chi-square %v, %s", c.name, s, s.Verdict(), c.max, c.where, c.chi, c.verdict)
		}
		if math.Abs(s.P-c.p) > 0.02*c.p {
			t.Errorf("%s: P is %v, want %v", c.name, s.P, c.p)
		}
	}
}
