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
	// unevenSigmas is how many standard deviations of a random placement a deviation must exceed.
	unevenSigmas = 5
	// unevenDeviation is the MaxDeviation below which a spread is even. With many items chance explains no deviation.
	unevenDeviation = 0.1
)

// Verdict returns the assessment of the spread.
func (s Spread) Verdict() Verdict {
	n := float64(len(s.Counts))
	sigma := math.Sqrt(s.Mean * (1 - 1/n)) // of a count
	switch {
	case n < 2:
		return Unsharded
	case s.Mean < minMean:
		return TooFew
	case s.MaxDeviation*s.Mean > unevenSigmas*sigma && s.MaxDeviation >= unevenDeviation:
		return Uneven
	}
	return Even
}
