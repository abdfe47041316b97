package growth

import (
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// TestHopeless checks when another attempt to write to a key is hopeless, after attempts at these times.
func TestHopeless(t *testing.T) {
	type seen struct {
		at      time.Duration
		outcome shard.Outcome
		version int64
	}
	throttled := func(list ...time.Duration) (attempts []seen) {
		for _, at := range list {
			attempts = append(attempts, seen{at, shard.Throttled, 1})
		}
		return attempts
	}
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		seen         []seen
		fixed, grows bool // with no larger count in sight, and otherwise
	}{
		"nothing":              {nil, false, false},
		"two throttles":        {throttled(0, 400*ms), false, false},
		"short":                {throttled(0, 100*ms, 200*ms), false, false},
		"long enough if fixed": {throttled(0, 100*ms, 300*ms), true, false},
		"long enough":          {throttled(0, 500*ms, 1000*ms), true, true},
		"at long intervals":    {throttled(0, 2000*ms, 4000*ms), true, true},
		"after a pause":        {throttled(0, 500*ms, 1000*ms, 3001*ms, 3100*ms, 3200*ms), false, false},
		"another version":      {append(throttled(0, 500*ms, 1000*ms), seen{1100 * ms, shard.Throttled, 2}), false, false},
		"one of five accepted": {append(append(throttled(0, 500*ms), seen{600 * ms, shard.Accepted, 1}), throttled(700*ms, 800*ms, 1800*ms, 1900*ms)...), true, true},
		"half accepted": {[]seen{{0, shard.Throttled, 1}, {300 * ms, shard.Accepted, 1}, {600 * ms, shard.Throttled, 1}, {900 * ms, shard.Accepted, 1}, {1200 * ms, shard.Throttled, 1}},
			false, false},
		"inconclusive and conflicts": {append(throttled(0, 100*ms), seen{1200 * ms, shard.Inconclusive, 1}, seen{1300 * ms, shard.Conflicted, 1}), false, false},
	} {
		k, now := NewKeys(MaxKeys), modelEpoch
		a := shard.Attempt{Key: "C#a", Kind: string(schema.Counter), Version: 1, Shards: 1}
		for i, s := range c.seen {
			now = modelEpoch.Add(s.at)
			a.Call, a.Outcome, a.Version = uint64(i), s.outcome, s.version
			k.Observe(a, 256, now)
		}
		if fixed, grows := k.Hopeless(a, false, now), k.Hopeless(a, true, now); fixed != c.fixed || grows != c.grows {
			t.Errorf("%s: hopeless %t with no larger count in sight, else %t; want %t and %t", name, fixed, grows, c.fixed, c.grows)
		}
		a.Version += 10
		if k.Hopeless(a, false, now) {
			t.Errorf("%s: hopeless by a newer version of the entry", name)
		}
	}
}
