package hotkeys

import (
	"fmt"
	"math"
	"time"

	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Policy decides on shard counts. It is a value and does nothing by itself: counts, an entry of the shard map and the
// time go in, and a [Decision] comes out.
type Policy struct {
	Limit      float64 // of a partition, in WCU/s
	Threshold  float64 // share of Limit from which a write shard is hot; above 0, up to 1
	Partitions int     // partitions of the table: see [growth.Bound] for the write shards that they can use
}

// Action is what a decision does with a key.
type Action string

// The actions.
const (
	None   Action = ""
	Advise Action = "advise" // the key is hot, and more write shards don't help
	Grow   Action = "grow"
	Shrink Action = "shrink"
)

// Decision is what a policy decides about one key.
type Decision struct {
	Action   Action
	From, To int    // shard counts; equal unless Action is Grow or Shrink
	Why      string // the reason, with the figures
}

// Evidence is what one window shows of one base key. Rates are units divided by the window's whole length in seconds,
// also while it is running.
type Evidence struct {
	Base         schema.BaseKey
	Start, End   time.Time    // of the window
	Running      bool         // the window has not ended
	Past         bool         // the writes are to a time bucket that has ended
	Shards       map[int]Load // the listed write shards, by number
	Rest         float64      // upper bound for a write shard that is not listed
	Partial      bool         // an unlisted write shard may be counted on another stream shard, and then exceed Rest
	OtherPeriods Load         // of a board: the sum of the periods whose write shards are not in Shards
}

// Load is the rate of one write shard, between Low and High. Peak is a lower bound of its heaviest second's units.
type Load struct{ Low, High, Peak float64 }

// addLoad adds another load: its Low, and as Peak the larger of its Peak and Low. It leaves High alone.
func (l *Load) addLoad(other Load) {
	l.Low += other.Low
	l.Peak += max(other.Low, other.Peak)
}

// decide decides whether a suspect grows, by the counts of this stream shard in a window (local). If these call for no
// action, the recent windows of all stream shards decide, newest first. decide also returns the decisive window.
// needsRecent means that local and recent call for no action, and that further recent windows may.
func (p Policy) decide(s suspect, local *loads, recent []*loads, entry shardmap.Entry, now time.Time) (d Decision, decisive *loads, needsRecent bool) {
	d = p.DecideGrowth(local.evidence(s, true), entry, now)
	traits := schema.TraitsOf(s.base.Type)
	// With random placement all write shards have the same load, so no other stream shard's counts matter.
	loadsDiffer := entry.History.Newest() > 1 && traits.Placement != schema.RandomPlacement
	othersMatter := traits.Indexed() || loadsDiffer
	if d.Action != None || local.running || !othersMatter {
		return d, local, false
	}
	for _, window := range recent {
		if d := p.DecideGrowth(window.evidence(s, !window.allReported(now)), entry, now); d.Action != None {
			return d, window, false
		}
	}
	return d, local, true
}

// DecideGrowth decides whether a key grows.
//
// A key grows if a write shard has reached the threshold. The new count is what its rate needs, up to [growth.Bound].
// Evidence from before the last change took effect is ignored, because that change responded to it. So is evidence
// older than two windows. If a few write shards are hot among much cooler ones, more write shards don't help, and the
// decision is to advise.
func (p Policy) DecideGrowth(e Evidence, entry shardmap.Entry, now time.Time) Decision {
	placement := schema.TraitsOf(e.Base.Type).Placement
	if placement == schema.TimedPlacement {
		entry = entry.Active(now) // a pending decrease does not delay a growth
	}
	since := entry.Updated // for a key without changes: the time of its reset
	if len(entry.History) > 0 {
		since = entry.Effective()
	}
	hot, unseen := e.hotKey(entry.History.Newest())
	hot.Limit = p.Limit
	remedy, count := hot.Remedy(p.Partitions)
	d := Decision{From: hot.Shards, To: hot.Shards}
	figures := fmt.Sprintf("from %s the hottest write shard of %d took %.1f of a partition's %.0f WCU/s; all took %.1f",
		e.Start.UTC().Format(time.TimeOnly), hot.Shards, hot.Hottest, p.Limit, hot.Total)
	switch {
	case hot.Hottest < p.Threshold*p.Limit:
		return d.with(None, "not hot: "+figures)
	case entry.Pinned:
		return d.with(None, "its shard count is pinned: "+figures)
	case e.Start.Before(since):
		return d.with(None, "before the change of "+since.Format(time.TimeOnly)+" took effect: "+figures)
	case e.End.Before(now.Add(-2 * e.End.Sub(e.Start))):
		return d.with(None, "too long ago: "+figures)
	case remedy == growth.Pace:
		return d.with(Advise, "events of past days keep their write shards: "+figures)
	case unseen > 0 && placement != schema.RandomPlacement:
		return d.with(None, "its other write shards have not reported yet: "+figures)
	case remedy == growth.Spread:
		return d.with(Advise, "more write shards do not cure skew among them: "+figures)
	case remedy == growth.Split:
		return d.with(Advise, fmt.Sprintf("more than %d write shards do not help on the table's %d partitions: %s", growth.Bound(p.Partitions), p.Partitions, figures))
	}
	d.To = count
	return d.with(Grow, figures)
}

func (d Decision) with(a Action, why string) Decision {
	d.Action, d.Why = a, why
	return d
}

// hotKey returns the rates of a key with n write shards. unseen is the number of write shards that another stream shard may
// have counted; 0 unless e is Partial.
//
// Former write shards, which late events go to, are never the hottest. The total includes a board's other periods, which
// share the index's partitions, and each unseen write shard counts as much as the hottest. For a running window, whose
// mean still rises, the total is the sum of the peaks.
func (e Evidence) hotKey(n int) (hot growth.Hot, unseen int) {
	hot = growth.Hot{Type: e.Base.Type, Shards: n, Past: e.Past, Others: math.Inf(1)}
	sum, hottest := e.OtherPeriods, Load{}
	if e.Partial {
		unseen = n
	}
	for i, load := range e.Shards {
		sum.addLoad(load)
		hottest = Load{Low: max(hottest.Low, load.Low), Peak: max(hottest.Peak, load.Low, load.Peak)}
		if i < n {
			hot.Hottest = max(hot.Hottest, load.Low)
			unseen = max(0, unseen-1)
		}
	}
	hot.Total = sum.Low + float64(unseen)*hottest.Low
	if e.Running {
		hot.Total = sum.Peak + float64(unseen)*hottest.Peak
	}
	if unseen == 0 {
		hot.Others = e.maxRate(n) - hot.Hottest
	}
	return hot, unseen
}

// maxRate returns an upper bound of the sum of the first n write shards' rates.
func (e Evidence) maxRate(n int) (sum float64) {
	for i := range n {
		load, seen := e.Shards[i]
		if !seen {
			load.High = e.Rest
		}
		sum += max(load.Low, load.High)
	}
	return sum
}
