package hotkey

import (
	"fmt"
	"math"
	"time"

	"github.com/hotshard/hotshard/internal/growth"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Policy decides on shard counts. It is a value and does nothing by itself: what
// was seen goes in, and the time, and a [Decision] comes out.
type Policy struct {
	Limit      float64 // write units a second that a partition takes
	Threshold  float64 // part of Limit from which on a write shard is hot; above 0, up to 1
	Partitions int     // of the table: more write shards than [growth.Bound] help nothing
}

// Action is what to do about a key.
type Action string

// The actions.
const (
	None   Action = ""
	Advise Action = "advise" // it is hot, and more write shards don't help
	Grow   Action = "grow"
	Shrink Action = "shrink"
)

// Decision is what a policy makes of what was seen.
type Decision struct {
	Action   Action
	From, To int    // shard counts; equal unless it is Grow or Shrink
	Why      string // in words, with the figures
}

// Evidence is what one window shows of one base key. Rates are in write units a
// second over the whole window, also while it is running.
type Evidence struct {
	Base       schema.BaseKey
	Start, End time.Time    // of the window
	Running    bool         // the window goes on
	Past       bool         // the writes are to a time bucket that is over
	Shards     map[int]Load // the write shards that were seen, by number
	Rest       float64      // at most so much may go to one that was not
	Partial    bool         // one that was not may be counted on another stream shard, whatever Rest says
	Beside     Load         // of a board, what its other periods' write shards took
}

// Load is one write shard's rate: at least Low, at most High. Peak is the weight of
// its heaviest second so far, a lower bound.
type Load struct{ Low, High, Peak float64 }

// add adds up rates and heaviest seconds.
func (l *Load) add(m Load) {
	l.Low += m.Low
	l.Peak += max(m.Low, m.Peak)
}

// Answer decides whether a key is to grow, now that this was seen of it.
//
// It grows when a write shard has reached the threshold, to what its rate needs, and to no
// more than helps. Evidence from before the last change was in force is answered
// already, by whoever made that change, and what is older than two windows may be over:
// neither counts. If a few write shards are hot among much cooler ones, more of them
// would stand idle too: that is advised.
func (p Policy) Answer(e Evidence, entry shardmap.Entry, now time.Time) Decision {
	n := entry.History.Newest()
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
	figures := fmt.Sprintf("in the window from %s the hottest of %d write shards took %.1f of a partition's %.0f write units a second, all together %.1f",
		e.Start.UTC().Format(time.TimeOnly), n, hottest, p.Limit, hot.Total)
	switch {
	case hottest < p.Threshold*p.Limit:
		return d.none("not hot: " + figures)
	case entry.Pinned:
		return d.none("its shard count is pinned: " + figures)
	case e.Start.Before(answered(entry)):
		return d.none("answered by the change of " + answered(entry).Format(time.TimeOnly) + ": " + figures)
	case e.End.Before(now.Add(-2 * e.End.Sub(e.Start))):
		return d.none("too long ago: " + figures)
	case remedy == growth.Pace:
		return d.advise("events of past days, whose write shards are fixed: " + figures)
	case unseen > 0 && growth.PlacementOf(e.Base.Type) != growth.Random:
		return d.none("its other write shards are yet to be heard of: " + figures)
	case remedy == growth.Spread:
		return d.advise("skew among write shards, which more of them don't cure: " + figures)
	case remedy == growth.Split:
		return d.advise(fmt.Sprintf("no more than %d write shards help on the table's %d partitions, which are the limit: %s", growth.Bound(p.Partitions), p.Partitions, figures))
	}
	d.Action, d.To, d.Why = Grow, count, figures
	return d
}

// answered is until when evidence is answered: by the newest change, from when on it is
// in force, or by a reset.
func answered(entry shardmap.Entry) time.Time {
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

// hottest is the most that any write shard, among n, is certain to have taken. Others
// are former ones, which late events are written to: they have what they have.
func (e Evidence) hottest(n int) (most float64) {
	for i, load := range e.Shards {
		if i < n {
			most = max(most, load.Low)
		}
	}
	return most
}

// unseen is how many of n write shards may be counted elsewhere.
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

// total is the certified rate of all write shards that were seen, and that of those
// that are counted elsewhere, as if they were like the hottest; a board's other periods
// included: all of them share the index's partitions. Of a running window, whose mean is
// yet to rise, it is that of their heaviest seconds.
func (e Evidence) total(unseen int) float64 {
	sum, hottest := e.Beside, Load{}
	for _, load := range e.Shards {
		sum.add(load)
		hottest = Load{Low: max(hottest.Low, load.Low), Peak: max(hottest.Peak, load.Low, load.Peak)}
	}
	if e.Running {
		return sum.Peak + float64(unseen)*hottest.Peak
	}
	return sum.Low + float64(unseen)*hottest.Low
}

// others is the most that all of n write shards but the hottest took.
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

// Calm is what is known of a key's load over a time up to now.
type Calm struct {
	Base  schema.BaseKey
	From  time.Time
	Peak  float64 // write units a second in the heaviest window, at most
	Doubt string  // why there may have been more; "" for none
}

// Relax decides whether a key is to shrink: when its load was low all the time, and half
// of its write shards or fewer are enough for the heaviest window. It goes down to what
// that needs; the share of a partition's limit that is planned leaves room.
func (p Policy) Relax(c Calm, entry shardmap.Entry) Decision {
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
	d.Why = fmt.Sprintf("from %s on no window had more than %.1f write units a second; a partition takes %.0f",
		c.From.UTC().Format(time.DateTime), c.Peak, p.Limit)
	return d
}

// low tells whether half of a key's write shards would have been enough.
func (p Policy) low(c Calm, entry shardmap.Entry) bool {
	return 2*growth.Needed(c.Base.Type, c.Peak, p.Limit) <= entry.History.Newest()
}
