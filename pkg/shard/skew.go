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
}

// SpreadOf measures counts, one for each write shard. No count may be negative.
func SpreadOf(counts []int64) Spread {
	s := Spread{Counts: counts}
	for _, n := range counts {
		s.Total += n
	}
	if s.Total == 0 {
		return s
	}
	s.Mean = float64(s.Total) / float64(len(counts))
	for n, count := range counts {
		if deviation := math.Abs(float64(count)-s.Mean) / s.Mean; deviation > s.MaxDeviation {
			s.MaxDeviation, s.Furthest = deviation, n
		}
	}
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
	// TooFew means that the mean is below five, which chance changes much.
	TooFew Verdict = "too few"
	// Unsharded means that there are fewer than two write shards.
	Unsharded Verdict = "not sharded"
)

// Bounds of an even spread.
const (
	minMean = 5 // items on a write shard
	// unevenSigmas is how many standard deviations Pearson's chi-square must be too high. Chance makes one of a thousand
	// even keys exceed it.
	unevenSigmas = 3.09
	// unevenDeviation is the MaxDeviation below which a spread is even. With many items chance explains no deviation.
	unevenDeviation = 0.1
)

// Verdict returns the assessment of the spread.
func (s Spread) Verdict() Verdict {
	switch {
	case len(s.Counts) < 2:
		return Unsharded
	case s.Mean < minMean:
		return TooFew
	case s.MaxDeviation >= unevenDeviation && s.sigmas() > unevenSigmas:
		return Uneven
	}
	return Even
}

// sigmas returns by how many standard deviations Pearson's chi-square of the counts exceeds that of a random placement, as
// Wilson and Hilferty approximate it.
func (s Spread) sigmas() float64 {
	chiSquare, degrees := 0.0, float64(len(s.Counts)-1)
	for _, count := range s.Counts {
		difference := float64(count) - s.Mean
		chiSquare += difference * difference / s.Mean
	}
	variance := 2 / (9 * degrees)
	return (math.Cbrt(chiSquare/degrees) - 1 + variance) / math.Sqrt(variance)
}
