package report

import "math"

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
	return units / seconds * gammaQuantile(k, -z) / k, units / seconds * gammaQuantile(k+1, z) / k
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
