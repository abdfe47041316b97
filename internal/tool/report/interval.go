package report

import (
	"math"
	"slices"
)

// z is the quantile of the normal distribution that leaves 2.5 % above it.
const z = 1.959964

// noise models how the writes of a second vary about a key's mean rate: with the variance of
// independent single writes, plus a term for bursts that is proportional to the squared rate.
type noise struct {
	burst float64 // square of the coefficient of variation of a second's rate; 0 or more
}

// variance returns the variance of the units of one second, for a key with this mean in units a
// second and this weight of a write.
func (n noise) variance(mean, weight float64) float64 {
	return mean*weight + n.burst*mean*mean
}

// interval returns the 95 % interval of the mean units a second, given the units counted in some
// seconds. It uses a gamma distribution with the noise's variance. For independent single writes that
// is the exact interval of a Poisson rate.
func (n noise) interval(units, seconds, weight float64) (low, high float64) {
	mean := units / seconds
	if mean == 0 {
		return 0, -math.Log(0.05/2) * weight / seconds
	}
	per := n.variance(mean, weight) / mean // variance to mean ratio of a second
	k := units / per                       // number of independent events with the same certainty
	return around(mean, k)
}

// around returns the 95 % interval of an estimate that is as certain as a count of k independent
// events.
func around(estimate, k float64) (low, high float64) {
	return estimate * gammaQuantile(k, -z) / k, estimate * gammaQuantile(k+1, z) / k
}

// gammaQuantile returns the quantile of a gamma distribution of shape k at a normal quantile, by the
// approximation of Wilson and Hilferty (1931). Its error is below 1 % from k = 1 on.
func gammaQuantile(k, at float64) float64 {
	if k < 0.05 {
		return 0
	}
	c := 1 - 1/(9*k) + at/(3*math.Sqrt(k))
	if c <= 0 {
		return 0
	}
	return k * c * c * c
}

// pairs has the differences of neighbouring seconds of busy keys.
type pairs []pair

// pair has the square of the difference and the weight of a write, both relative to the seconds' mean.
type pair struct{ square, weight float64 }

// busy is the number of units a second from which a key's seconds are used to measure bursts.
const busy = 30

// maxPairs is the maximum number of pairs that are kept.
const maxPairs = 1_000_000

// addPair adds the units of two neighbouring seconds of a key, and the weight of its writes.
func (p *pairs) addPair(a, b, weight float64) {
	mean := (a + b) / 2
	if mean < busy || len(*p) >= maxPairs {
		return
	}
	*p = append(*p, pair{(a - b) * (a - b) / 2 / (mean * mean), weight / mean})
}

const (
	fewPairs     = 20     // with fewer, noise returns assumedBurst
	manyPairs    = 20_000 // noise uses about this many
	assumedBurst = 0.01   // seconds of a key vary by 10 %
)

// noise returns the noise of the table's traffic. It matches the median of the differences between
// neighbouring slices of busy keys to that of a normal variable. A median, because a few of the pairs
// contain a storm's begin or end.
func (p pairs) noise() noise {
	if len(p) < fewPairs {
		return noise{assumedBurst}
	}
	some := p
	if step := len(p) / manyPairs; step > 1 {
		some = nil
		for i := 0; i < len(p); i += step {
			some = append(some, p[i])
		}
	}
	const chiMedian = 0.4549 // of the square of a normal variable
	low, high := 0.0, 4.0
	for range 30 {
		burst := (low + high) / 2
		scaled := make([]float64, len(some))
		for i, x := range some {
			scaled[i] = x.square / (x.weight + burst)
		}
		slices.Sort(scaled)
		if scaled[len(scaled)/2] > chiMedian {
			low = burst
		} else {
			high = burst
		}
	}
	return noise{high}
}
