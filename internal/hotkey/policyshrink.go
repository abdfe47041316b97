package hotkey

import (
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// Calm is what is known of a key's load over a time in which everything written to
// it has been counted. From is not before To; equal times prove nothing.
type Calm struct {
	Base       schema.BaseKey
	From, To   time.Time
	Peak       float64 // write units a second in the heaviest window, at most
	Throttled  bool    // writes were refused, or may have been
	Incomplete bool    // counts of the time may be missing all the same
}

// Relax decides whether a key is to shrink: when its load was low for the whole
// quiet period up to now, with proof, and half of its write shards or fewer are
// enough for the period's peak.
func (p Policy) Relax(c Calm, entry ddb.Entry, now time.Time) Decision {
	n := entry.History.Newest()
	d := Decision{From: n, To: n}
	needed := shard.Needed(c.Peak, p.Limit, heat.Share(c.Base.Type))
	switch {
	case n <= 1:
		return d.none("it has one write shard")
	case entry.Pinned:
		return d.none("its shard count is pinned")
	case c.To.Sub(c.From) < p.Quiet || c.To.Before(now.Add(-p.recent())):
		return d.none("there is no proof that the whole quiet period was counted")
	case c.From.Before(entry.Effective()):
		return d.none("the last change is too recent")
	case c.Incomplete:
		return d.none("records of the quiet period may not have been counted")
	case c.Throttled:
		return d.none("writes were refused in the quiet period")
	case 2*needed > n:
		return d.none("the quiet period's peak needs more than half of the write shards")
	}
	d.Action, d.To = Shrink, needed
	d.Why = fmt.Sprintf("from %s to %s no window had more than %.1f write units a second; a partition takes %.0f",
		c.From.UTC().Format(time.TimeOnly), c.To.UTC().Format(time.TimeOnly), c.Peak, p.Limit)
	return d
}

// recent is how long ago the proof may end: a beat is seen when the window that it
// came in has been reported.
func (p Policy) recent() time.Duration { return 3*p.Interval + 2*p.Window }

// maxGap is how far apart two beats may be for the time between them to count as
// covered. With one lost in between, records may be lost too.
func (p Policy) maxGap() time.Duration { return p.Interval * 3 / 2 }
