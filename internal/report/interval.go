package report

import (
	"math"
	"slices"
)

// z is the quantile of the normal distribution that leaves 2.5 % above it.
const z = 1.959964

// noise is how the writes of a second vary about a key's mean rate: as single writes that
// come independently of each other would, and, besides, in proportion to the rate, since
// callers come in bursts.
type noise struct {
	burst float64 // square of the coefficient of variation of a second's rate; 0 or more
}

// variance is that of the units of one second, of a key with a mean of so many units a
// second whose writes weigh so much each.
func (n noise) variance(mean, weight float64) float64 {
	return mean*weight + n.burst*mean*mean
}

// interval returns where the mean of a second's units is with 95 % certainty, by what was
// counted in so many seconds. It is that of a gamma distribution with the variance that the
// noise has, which for single independent writes is the exact one of a Poisson rate.
func (n noise) interval(units, seconds, weight float64) (low, high float64) {
	mean := units / seconds
	if mean == 0 {
		return 0, -math.Log(0.05/2) * weight / seconds
	}
	per := n.variance(mean, weight) / mean // variance to mean of a second
	k := units / per                       // independent events that tell as much
	return around(mean, k)
}

// around is where an estimate's true value is with 95 % certainty, if it is as sure as a count
// of k independent events.
func around(estimate, k float64) (low, high float64) {
	return estimate * gammaQuantile(k, -z) / k, estimate * gammaQuantile(k+1, z) / k
}

// gammaQuantile is the quantile of a gamma distribution of shape k at a normal quantile, by
// the approximation of Wilson and Hilferty (1931), which is within a percent from k = 1 on.
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

// pairs are how neighbouring seconds of busy keys differ, each pair by itself.
type pairs []pair

// pair has the square of the difference and the weight of a write, by the mean of both seconds.
type pair struct{ square, weight float64 }

// busy is how many units a second tell how bursty the traffic is.
const busy = 30

// maxPairs is how many are kept at most.
const maxPairs = 1_000_000

// add takes the units of two neighbouring seconds of a key, whose writes weigh so much each.
func (p *pairs) add(a, b, weight float64) {
	mean := (a + b) / 2
	if mean < busy || len(*p) >= maxPairs {
		return
	}
	*p = append(*p, pair{(a - b) * (a - b) / 2 / (mean * mean), weight / mean})
}

// What is assumed of bursts where too little was read to tell, and how much is enough.
const (
	fewPairs     = 20
	manyPairs    = 20_000
	assumedBurst = 0.01 // seconds of a key vary by 10 %
)

// noise is how bursty the table's traffic is: what makes the median of the differences
// between neighbouring slices of busy keys what it is with a normal variable's. A storm's
// begin and end are few among them.
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
