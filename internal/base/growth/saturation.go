package growth

import (
	"time"

	"github.com/hotshard/hotshard/pkg/shard"
)

// Bounds of the evidence that a key has no capacity.
const (
	minSaturated = 3               // throttles, less two for each accepted attempt
	runPause     = 2 * time.Second // a run of throttles ends after a longer pause
	// A larger count is usually in force within a second. If no larger count is possible, a short wait shows whether the
	// throttles last.
	hopelessAfter      = time.Second
	hopelessAfterFixed = 300 * time.Millisecond
)

// saturation is a key's latest run of throttles with one version of its entry.
type saturation struct {
	version     int64
	since, last time.Time // the run's first and latest throttle
	throttles   int       // less two for each accepted attempt; 0 or more
}

// observe counts a throttle, which starts a new run after a pause, with another version, or if none is counted. It takes
// off two for an accepted attempt. Other outcomes change nothing.
func (s *saturation) observe(a shard.Attempt, now time.Time) {
	switch {
	case a.Outcome == shard.Accepted:
		s.throttles = max(0, s.throttles-2)
	case a.Outcome != shard.Throttled:
	case a.Version != s.version, s.throttles == 0, now.Sub(s.last).Abs() > runPause:
		*s = saturation{a.Version, now, now, 1}
	default:
		s.last, s.throttles = now, s.throttles+1
	}
}

// Hopeless reports whether a throttled attempt's key has been throttled for so long that another attempt of the same call
// would only occupy the process. mayGrow means that a larger count may take effect for the attempt.
func (k *Keys) Hopeless(a shard.Attempt, mayGrow bool, now time.Time) bool {
	wait := hopelessAfterFixed
	if mayGrow {
		wait = hopelessAfter
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.evidenceOf(a.Key).saturation
	return s.version == a.Version && s.throttles >= minSaturated && now.Round(0).Sub(s.since) >= wait
}
