package hotkey

import (
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// Policy decides on shard counts. It is a value and does nothing by itself: what
// was seen goes in, and the time, and a [Decision] comes out.
type Policy struct {
	Limit     float64       // write units a second that a partition takes
	Threshold float64       // part of Limit from which on a write shard is hot; above 0, up to 1
	Window    time.Duration // the detector's
	Quiet     time.Duration // how long a load must have been low before a shrink
	Interval  time.Duration // how often the shrink task runs
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
	Start, End time.Time      // of the window
	Running    bool           // the window goes on
	Past       bool           // the writes are to a time bucket that is over
	Shards     map[int]Load   // the write shards that were seen, by number
	Rest       float64        // at most so much may go to one that was not
	Beside     Load           // of a board, what its other periods' write shards took
	Failed     float64        // rate of failed conditions, on whichever write shard
	Offered    float64        // highest rate that writers saw offered in a second
	Waiting    bool           // Offered is too low yet: a writer has not been active for a second
	Throttled  uint64         // attempts refused, on whichever write shard
	Refused    map[int]uint64 // those whose write shard is known
	Unknown    int            // write shards that are counted elsewhere, and taken to be like the hottest
	Unheard    bool           // what those counted elsewhere take is not to be told yet
	Skewed     bool           // a window before showed skew
}

// Load is one write shard's rate: at least Low, at most High. Peak is the weight of
// its heaviest second so far, a lower bound, and PeakAt that second.
type Load struct {
	Low, High, Peak float64
	PeakAt          time.Time
}

// far is how many times cooler than the hottest write shard its siblings are, on
// average, when the key's load is skewed.
const far = 3

// Answer decides whether a key is to grow, now that this was seen of it.
//
// It grows when it throttled or a write shard has reached the threshold. Evidence
// from before the last change was in force is answered already, and what is older
// than two windows may be over: neither counts. While writers that were refused
// don't know their rate yet, or a partition has only just come to its limit, it waits
// for that: what got through says little of what is needed, and the next change is a
// cooldown away. If a few write shards are hot among much cooler ones, more of them
// would stand idle too: that is advised.
func (p Policy) Answer(e Evidence, entry ddb.Entry, now time.Time) Decision {
	n := entry.History.Newest()
	hottest := p.hottest(e, n)
	rate := e.rate()
	d := Decision{From: n, To: n}
	figures := fmt.Sprintf("in the window from %s the hottest of %d write shards took %.1f of a partition's %.0f write units a second, all together %.1f; %.1f were offered, %d attempts throttled",
		e.Start.UTC().Format(time.TimeOnly), n, hottest, p.Limit, e.total(), e.Offered, e.Throttled)
	switch {
	case e.throttled(n) == 0 && !p.hot(e, n):
		return d.none("not hot: " + figures)
	case entry.Pinned:
		return d.none("its shard count is pinned: " + figures)
	case e.Start.Before(answered(entry)):
		return d.none("answered by the change of " + answered(entry).Format(time.TimeOnly) + ": " + figures)
	case e.End.Before(now.Add(-2 * e.End.Sub(e.Start))):
		return d.none("too long ago: " + figures)
	case e.Waiting && now.Sub(e.End) < answerOfWriters, e.Running && p.saturated(e, n, now):
		return d.none("its writers will know its rate in a moment: " + figures)
	case e.Past:
		return d.advise("events of past days, whose write shards are fixed: " + figures)
	case n >= shard.MaxShards:
		return d.advise("it has the most write shards that there may be: " + figures)
	case n == 1 && e.Offered > 0 && p.needed(e, rate) == 1:
		return d.advise("other keys fill its partition, which more write shards of this one don't cure: " + figures)
	case e.Unheard && p.needed(e, e.Offered) <= n:
		return d.none("its other write shards are yet to be heard of: " + figures)
	case e.Skewed || p.skewed(e, n):
		return d.advise("skew among write shards, which more of them don't cure: " + figures)
	}
	d.Action, d.Why = Grow, figures
	d.To = shard.Grown(n, p.needed(e, rate))
	return d
}

// answered is until when evidence is answered: by the newest change, from when on it is
// in force, or by a reset.
func answered(entry ddb.Entry) time.Time {
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

// throttled is how many attempts were refused on n write shards. Others are former
// ones, which late events are written to: they have what they have.
func (e Evidence) throttled(n int) uint64 {
	attempts := e.Throttled
	for i, refused := range e.Refused {
		if i >= n {
			attempts -= min(refused, attempts)
		}
	}
	return attempts
}

// total is the certified rate of all write shards that were seen, and that of those
// that can't be, as if they were like the hottest; a board's other periods included: all of them share the index's partitions. Of a running
// window, whose mean is yet to rise, it is that of their heaviest seconds.
func (e Evidence) total() float64 {
	mean, peak := e.Failed+e.Beside.Low, e.Failed+e.Beside.Peak
	var hottest Load
	for _, load := range e.Shards {
		mean += load.Low
		peak += max(load.Low, load.Peak)
		hottest = Load{Low: max(hottest.Low, load.Low), Peak: max(hottest.Peak, load.Peak)}
	}
	mean += float64(e.Unknown) * hottest.Low
	peak += float64(e.Unknown) * max(hottest.Low, hottest.Peak)
	if e.Running {
		return peak
	}
	return mean
}

// answerOfWriters is within which time a writer that is refused grows the key, if it can:
// a second to know its rate, up to two and a half for other writers to know theirs.
const answerOfWriters = 3 * time.Second

// burst is how many times its limit a partition takes at the most in a second, out of
// what it took less in the second before.
const burst = 2

// saturated tells whether a write shard came to its partition's limit just now: then
// more may be offered than can be seen, which only its writers know. What they tell
// may come by another stream shard. If it took far more than its limit, nothing holds
// it back, and all can be seen.
func (p Policy) saturated(e Evidence, n int, now time.Time) bool {
	if e.Offered > 0 {
		return false
	}
	for i, load := range e.Shards {
		if i < n && load.Peak >= p.Limit && load.Peak <= burst*p.Limit && now.Sub(load.PeakAt) < answerOfWriters {
			return true
		}
	}
	return false
}

// rate is what the key needs room for. What was offered counts the writes that
// were refused, which no stream shows.
func (e Evidence) rate() float64 { return max(e.total(), e.Offered) }

// needed is how many write shards the key needs at a rate.
func (p Policy) needed(e Evidence, rate float64) int {
	return shard.Needed(rate, p.Limit, heat.Share(e.Base.Type))
}

// hot tells whether a write shard, among n, has reached the threshold.
func (p Policy) hot(e Evidence, n int) bool { return p.hottest(e, n) >= p.Threshold*p.Limit }

// hottest is the certified rate of the write shard that has most of it, among n,
// with its part of the failed conditions.
func (p Policy) hottest(e Evidence, n int) float64 {
	most := 0.0
	for i, load := range e.Shards {
		if i < n {
			most = max(most, load.Low)
		}
	}
	return most + e.Failed/float64(n)
}

// skewed tells whether few of n write shards are hot and the others, on average,
// far cooler even by the upper bounds. A write shard that throttled is as hot as
// the threshold at least. Without figures, or if as much is offered as n write
// shards are not meant for, there is no telling.
func (p Policy) skewed(e Evidence, n int) bool {
	if n < 2 || e.Unknown > 0 || p.needed(e, e.Offered) > n {
		return false
	}
	most, sum := 0.0, 0.0
	for i := range n {
		load, seen := e.Shards[i]
		if !seen {
			load.High = e.Rest
		}
		if e.Refused[i] > 0 {
			load.Low = max(load.Low, p.Threshold*p.Limit)
		}
		most = max(most, load.Low)
		sum += max(load.Low, load.High)
	}
	others := (sum - most) / float64(n-1)
	return most > 0 && far*others < most
}
