package hotkeys

import (
	"fmt"
	"math"
	"time"

	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Policy decides on shard counts. It is a value and does nothing by itself: evidence and the time go in, and a
// [Decision] comes out.
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
	Base       schema.BaseKey
	Start, End time.Time    // of the window
	Running    bool         // the window has not ended
	Past       bool         // the writes are to a time bucket that has ended
	Shards     map[int]Load // the listed write shards, by number
	Rest       float64      // upper bound for a write shard that is not listed
	Partial    bool         // an unlisted write shard may be counted on another stream shard, and then exceed Rest
	Beside     Load         // for a board: the rate of its other periods
}

// Load is the rate of one write shard, between Low and High. Peak is a lower bound of its heaviest second's units.
type Load struct{ Low, High, Peak float64 }

// addLoad adds the lower bounds and the peaks of another load.
func (l *Load) addLoad(m Load) {
	l.Low += m.Low
	l.Peak += max(m.Low, m.Peak)
}

// DecideGrowth decides whether a key grows.
//
// A key grows if a write shard has reached the threshold. The new count is what its rate needs, up to [growth.Bound].
// Evidence from before the last change took effect is ignored, because that change responded to it. So is evidence
// older than two windows. If a few write shards are hot among much cooler ones, more write shards don't help, and the
// decision is to advise.
func (p Policy) DecideGrowth(e Evidence, entry shardmap.Entry, now time.Time) Decision {
	n, since := entry.History.Newest(), respondedUpTo(entry)
	if kind.Of(e.Base.Type).Placement == kind.Timed && n < entry.History.At(now) {
		active := entry.Active(now) // a pending decrease does not delay a growth
		n, since = active.History.Newest(), active.Effective()
	}
	hottest, unseen := e.hottest(n), e.unseen(n)
	hot := growth.Hot{
		Type: e.Base.Type, Limit: p.Limit, Shards: n, Past: e.Past,
		Hottest: hottest, Others: math.Inf(1), Total: e.total(unseen),
	}
	if unseen == 0 {
		hot.Others = e.others(hottest, n)
	}
	remedy, count := hot.Remedy(p.Partitions)
	d := Decision{From: n, To: n}
	figures := fmt.Sprintf("from %s the hottest write shard of %d took %.1f of a partition's %.0f WCU/s; all took %.1f",
		e.Start.UTC().Format(time.TimeOnly), n, hottest, p.Limit, hot.Total)
	switch {
	case hottest < p.Threshold*p.Limit:
		return d.none("not hot: " + figures)
	case entry.Pinned:
		return d.none("its shard count is pinned: " + figures)
	case e.Start.Before(since):
		return d.none("answered by the change of " + since.Format(time.TimeOnly) + ": " + figures)
	case e.End.Before(now.Add(-2 * e.End.Sub(e.Start))):
		return d.none("too long ago: " + figures)
	case remedy == growth.Pace:
		return d.advise("events of past days keep their write shards: " + figures)
	case unseen > 0 && kind.Of(e.Base.Type).Placement != kind.Random:
		return d.none("its other write shards have not reported yet: " + figures)
	case remedy == growth.Spread:
		return d.advise("more write shards do not cure skew among them: " + figures)
	case remedy == growth.Split:
		return d.advise(fmt.Sprintf("more than %d write shards do not help on the table's %d partitions: %s", growth.Bound(p.Partitions), p.Partitions, figures))
	}
	d.Action, d.To, d.Why = Grow, count, figures
	return d
}

// respondedUpTo returns the time up to which the newest change has responded to evidence: when it took effect, or when
// the entry was reset.
func respondedUpTo(entry shardmap.Entry) time.Time {
	if len(entry.History) == 0 {
		return entry.Updated
	}
	return entry.Effective()
}

func (d Decision) none(why string) Decision {
	d.Action, d.Why = None, why
	return d
}

func (d Decision) advise(why string) Decision {
	d.Action, d.Why = Advise, why
	return d
}

// hottest returns the greatest lower bound among the n current write shards. Former write shards, which late events go
// to, don't count.
func (e Evidence) hottest(n int) (most float64) {
	for i, load := range e.Shards {
		if i < n {
			most = max(most, load.Low)
		}
	}
	return most
}

// unseen returns how many of the first n write shards may be counted on another stream shard.
func (e Evidence) unseen(n int) int {
	if !e.Partial {
		return 0
	}
	unseen := n
	for i := range e.Shards {
		if i < n {
			unseen--
		}
	}
	return unseen
}

// total returns the certified rate of all write shards. It includes a board's other periods, which share the index's
// partitions. Each unseen write shard counts as much as the hottest. For a running window, whose mean still rises,
// total sums the peaks.
func (e Evidence) total(unseen int) float64 {
	sum, hottest := e.Beside, Load{}
	for _, load := range e.Shards {
		sum.addLoad(load)
		hottest = Load{Low: max(hottest.Low, load.Low), Peak: max(hottest.Peak, load.Low, load.Peak)}
	}
	if e.Running {
		return sum.Peak + float64(unseen)*hottest.Peak
	}
	return sum.Low + float64(unseen)*hottest.Low
}

// others returns an upper bound for the sum of the first n write shards without the hottest.
func (e Evidence) others(hottest float64, n int) (sum float64) {
	for i := range n {
		load, seen := e.Shards[i]
		if !seen {
			load.High = e.Rest
		}
		sum += max(load.Low, load.High)
	}
	return sum - hottest
}

// PastLoad is the load of a key from a time up to now.
type PastLoad struct {
	Base  schema.BaseKey
	From  time.Time
	Peak  float64 // WCU/s in the heaviest window, at most
	Doubt string  // why the load may have been higher; "" for no doubt
}

// DecideShrink decides whether a key shrinks. It does if half of its write shards were enough for the heaviest window.
// The new count is what that window needs, with the planned reserve of a partition's limit.
func (p Policy) DecideShrink(c PastLoad, entry shardmap.Entry) Decision {
	n := entry.History.Newest()
	d := Decision{From: n, To: n}
	switch {
	case n <= 1:
		return d.none("it has one write shard")
	case entry.Pinned:
		return d.none("its shard count is pinned")
	case c.From.Before(entry.Effective()):
		return d.none("the last change is too recent")
	case c.Doubt != "":
		return d.none(c.Doubt)
	case !p.low(c, entry):
		return d.none("the quiet time's peak needs more than half of the write shards")
	}
	d.Action, d.To = Shrink, growth.Needed(c.Base.Type, c.Peak, p.Limit)
	d.Why = fmt.Sprintf("no window since %s had more than %.1f WCU/s; a partition takes %.0f",
		c.From.UTC().Format(time.DateTime), c.Peak, p.Limit)
	return d
}

// low reports whether half of a key's write shards would have been enough.
func (p Policy) low(c PastLoad, entry shardmap.Entry) bool {
	return 2*growth.Needed(c.Base.Type, c.Peak, p.Limit) <= entry.History.Newest()
}
