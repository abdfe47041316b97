package shard

import "math"

// Spread says how evenly items, or writes, lie on a key's write shards.
type Spread struct {
	Counts []int64 // by write shard
	Total  int64
	Mean   float64
	// MaxDeviation is that of the count furthest from the mean, as a part of the mean:
	// 0.5 is half as much again as the mean, or half of it. Furthest is its write shard.
	MaxDeviation float64
	Furthest     int
	// ChiSquare is the sum of (count - mean)^2 / mean, and P the chance that as large
	// a one, or larger, comes of choosing write shards at random: Pearson's test with
	// len(Counts) - 1 degrees of freedom. Both say nothing about fewer than two write
	// shards, or of nothing to count: 0 and 1.
	ChiSquare, P float64
}

// SpreadOf measures counts, one for each write shard. None may be negative.
func SpreadOf(counts []int64) Spread {
	s := Spread{Counts: counts, P: 1}
	for _, n := range counts {
		s.Total += n
	}
	if s.Total == 0 {
		return s
	}
	s.Mean = float64(s.Total) / float64(len(counts))
	for n, count := range counts {
		off := float64(count) - s.Mean
		s.ChiSquare += off * off / s.Mean
		if deviation := math.Abs(off) / s.Mean; deviation > s.MaxDeviation {
			s.MaxDeviation, s.Furthest = deviation, n
		}
	}
	s.P = chiSquareTail(s.ChiSquare, len(counts)-1)
	return s
}

// Verdict is what a [Spread] says, in a word.
type Verdict string

// The verdicts.
const (
	// Even: what deviation there is, chance explains; or it is too small to matter.
	Even Verdict = "even"
	// Uneven: chance does not explain it, and it is large enough to matter.
	Uneven Verdict = "uneven"
	// TooFew: with fewer than five for each write shard, on average, the test does not
	// hold, which is the usual rule for Pearson's.
	TooFew Verdict = "too few"
	// Unsharded: there is one write shard.
	Unsharded Verdict = "not sharded"
)

// Bounds of an even spread.
const (
	fewestExpected = 5
	// unlikely is the chance below which deviation is not taken for chance: of a
	// thousand keys that are even, one is called uneven.
	unlikely = 0.001
	// matters is the deviation below which a write shard is fine whatever the test
	// says: of many items, any deviation is significant.
	matters = 0.1
)

// Verdict judges a spread.
func (s Spread) Verdict() Verdict {
	switch {
	case len(s.Counts) < 2:
		return Unsharded
	case s.Mean < fewestExpected:
		return TooFew
	case s.P < unlikely && s.MaxDeviation >= matters:
		return Uneven
	}
	return Even
}

// chiSquareTail is the chance that a chi-square variable of so many degrees of
// freedom is x or more: the regularized upper incomplete gamma function
// Q(degrees/2, x/2).
//
// Half of a whole number makes it a finite sum (Abramowitz and Stegun, 26.4.4 and
// 26.4.5), of at most MaxShards/2 terms here: e^-h h^j / Gamma(j+1) for j = 0, 1, ...
// below degrees/2, and for odd degrees erfc(sqrt(h)) and j = 1/2, 3/2, ...; h is x/2.
// No term is negative, so nothing cancels out, and logarithms keep each from under-
// and overflowing.
func chiSquareTail(x float64, degrees int) float64 {
	if x <= 0 || degrees < 1 {
		return 1
	}
	h := x / 2
	j, sum := 0.0, 0.0
	if degrees%2 == 1 {
		j, sum = 0.5, math.Erfc(math.Sqrt(h))
	}
	for ; j < float64(degrees)/2; j++ {
		logGamma, _ := math.Lgamma(j + 1)
		sum += math.Exp(j*math.Log(h) - h - logGamma)
	}
	return min(sum, 1)
}
