package shard

import "math"

// Spread is how evenly items or writes are distributed over a key's write shards.
type Spread struct {
	Counts []int64 `json:"counts"` // by write shard
	Total  int64   `json:"total"`
	Mean   float64 `json:"mean"`
	// MaxDeviation is the largest deviation of a count from the mean, as a fraction of the
	// mean. Furthest is its write shard.
	MaxDeviation float64 `json:"max_deviation"`
	Furthest     int     `json:"furthest"`
	// ChiSquare is the sum of (count - mean)^2 / mean. P is the probability of at least this
	// sum if write shards are chosen at random: Pearson's test with len(Counts) - 1 degrees of
	// freedom. They are 0 and 1 with fewer than two write shards or without any items.
	ChiSquare float64 `json:"chi_square"`
	P         float64 `json:"p"`
}

// SpreadOf measures counts, one for each write shard. No count may be negative.
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
		difference := float64(count) - s.Mean
		s.ChiSquare += difference * difference / s.Mean
		if deviation := math.Abs(difference) / s.Mean; deviation > s.MaxDeviation {
			s.MaxDeviation, s.Furthest = deviation, n
		}
	}
	s.P = chiSquareTail(s.ChiSquare, len(counts)-1)
	return s
}

// Verdict is the assessment of a [Spread].
type Verdict string

// Verdicts.
const (
	// Even means that chance explains the deviation, or that it is too small to matter.
	Even Verdict = "even"
	// Uneven means that chance does not explain the deviation, and that it is large enough to matter.
	Uneven Verdict = "uneven"
	// TooFew means that the mean is below five, for which Pearson's test is not valid.
	TooFew Verdict = "too few"
	// Unsharded means that there are fewer than two write shards.
	Unsharded Verdict = "not sharded"
)

// Bounds of an even spread.
const (
	minMean = 5 // items on a write shard, for a valid test
	// unevenP is the P below which chance does not explain a deviation. One of a thousand even keys has such a P.
	unevenP = 0.001
	// unevenDeviation is the MaxDeviation below which a spread is even, whatever its P. With many items even the
	// smallest deviation has a low P.
	unevenDeviation = 0.1
)

// Verdict returns the assessment of the spread.
func (s Spread) Verdict() Verdict {
	switch {
	case len(s.Counts) < 2:
		return Unsharded
	case s.Mean < minMean:
		return TooFew
	case s.P < unevenP && s.MaxDeviation >= unevenDeviation:
		return Uneven
	}
	return Even
}

// chiSquareTail returns the probability that a chi-square variable with these degrees of freedom is x or more. That is
// the regularized upper incomplete gamma function Q(degrees/2, x/2).
//
// Since degrees/2 is a multiple of 1/2, Q is a finite sum (Abramowitz and Stegun, 26.4.4 and 26.4.5), of at most
// MaxShards/2 terms. With h = x/2 the terms are e^-h h^j / Gamma(j+1). For even degrees, j is 0, 1, ... below degrees/2.
// For odd degrees, j is 1/2, 3/2, ..., and erfc(sqrt(h)) is added. No term is negative, so none cancels another.
// Logarithms avoid underflow and overflow.
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
