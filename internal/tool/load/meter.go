package load

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// meter counts the load's measurements. It is safe for concurrent use.
type meter struct {
	mu      sync.Mutex
	calls   sample
	fresh   sample
	missed  int // probes that the summary did not show in time
	retries int
}

func (m *meter) addCall(took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls.addDuration(took)
}

func (m *meter) retry() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.retries++
}

func (m *meter) freshness(took time.Duration, shown bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if shown {
		m.fresh.addDuration(took)
	} else {
		m.missed++
	}
}

// maxSample is the maximum number of durations in a sample.
const maxSample = 100_000

// sample keeps maxSample durations; of more, it keeps a uniform random sample (Vitter's algorithm R).
type sample struct {
	kept []time.Duration
	seen int
}

func (s *sample) addDuration(d time.Duration) {
	s.seen++
	if len(s.kept) < maxSample {
		s.kept = append(s.kept, d)
	} else if at := rand.IntN(s.seen); at < maxSample {
		s.kept[at] = d
	}
}

// percentiles returns the sample's p50 and p99 by nearest rank.
func (s *sample) percentiles() Percentiles {
	sorted := slices.Sorted(slices.Values(s.kept))
	rank := func(percent int) float64 {
		if len(sorted) == 0 {
			return 0
		}
		at := (len(sorted)*percent+99)/100 - 1
		return float64(sorted[at].Microseconds()) / 1000
	}
	return Percentiles{Count: s.seen, P50: rank(50), P99: rank(99)}
}
