package shard

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"
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

// TestChiSquareTailIsATail checks that the tail decreases from 1, increases with the degrees of freedom, and is the integral
// of its density.
func TestChiSquareTailIsATail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		degrees := rapid.IntRange(1, MaxShards).Draw(t, "degrees")
		x := rapid.Float64Range(0.5, 3000).Draw(t, "x")
		const step = 1e-3
		p, next := chiSquareTail(x, degrees), chiSquareTail(x+step, degrees)
		const noise = 1e-12
		if p < 0 || p > 1 || next > p+noise || chiSquareTail(x, degrees+2) < p-noise {
			t.Fatalf("the tail of %v with %d degrees is %v, and %v at the next step", x, degrees, p, next)
		}
		half := float64(degrees) / 2
		logGamma, _ := math.Lgamma(half)
		middle := x + step/2
		density := math.Exp((half-1)*math.Log(middle) - middle/2 - half*math.Ln2 - logGamma)
		if got := (p - next) / step; math.Abs(got-density) > 1e-4*density+1e-9 {
			t.Fatalf("the tail of %v with %d degrees decreases by %v, want the density %v", x, degrees, got, density)
		}
	})
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

// TestRandomIsEven checks that few of 1,000 spreads by Random have a low probability.
func TestRandomIsEven(t *testing.T) {
	uneven := 0
	for range 1000 {
		counts := make([]int64, 20)
		for range 2000 {
			counts[Random(len(counts))]++
		}
		if SpreadOf(counts).P < 0.01 {
			uneven++
		}
	}
	// 10 are expected, with a standard deviation of 3.1; 40 occur once in 10^12 runs.
	if uneven > 40 {
		t.Errorf("%d of 1,000 spreads have a probability below 0.01, want about 10", uneven)
	}
}

// TestCalculatedIsEven checks that Calculated spreads sequential ids evenly.
func TestCalculatedIsEven(t *testing.T) {
	counts := make([]int64, 64)
	for i := range 64_000 {
		counts[Calculated("order-"+strconv.Itoa(i), len(counts))]++
	}
	if s := SpreadOf(counts); s.Verdict() != Even || s.P < 1e-6 {
		t.Errorf("spread %+v, want it even", s)
	}
}
