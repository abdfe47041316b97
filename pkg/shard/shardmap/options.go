package shardmap

import (
	"time"
)

// Times of the shard map by default; see [Options].
const (
	// ViewAge is the age beyond which a view of the shard map is renewed.
	ViewAge = time.Second
	// MaxAhead is how far ahead of now the times of items may lie whose write shard
	// depends on them.
	MaxAhead = 2 * time.Second
	// LeadTime is how long after its change a shard count comes into force.
	LeadTime = ViewAge + MaxAhead + CommitTime + Clocks
)

// Times that are the same for all.
const (
	// CommitTime is within what a change is committed, or given up.
	CommitTime = time.Second
	// Clocks is how far the clocks of two processes may be apart.
	Clocks = time.Second
)

// Bounds of Options.
const (
	MaxViewAge    = 5 * time.Second
	MaxEventAhead = 8 * time.Second
)

// Margin is how far around an instant readers mind other shard counts than the one in
// force there: the longest lead that a map may have, since they don't know the writers'.
const Margin = MaxViewAge + MaxEventAhead + CommitTime + Clocks

// Options are the times of a shard map. All processes that share one must have the
// same. The zero value is good.
//
// A change of a shard count comes into force a lead later: a view is at most ViewAge old,
// items lie at most EventAhead ahead, a change is committed within [CommitTime], and
// clocks differ by [Clocks]. The lead is the sum. So everyone agrees on the count at t
// before anyone writes an item of t.
type Options struct {
	// ViewAge is the age beyond which a view is renewed; up to MaxViewAge, default 1 s. Each
	// process in use makes a read each ViewAge, all of one partition, which takes 3,000
	// a second.
	ViewAge time.Duration
	// EventAhead is how far ahead of now the times of items may lie whose write shard
	// depends on them; up to MaxEventAhead, default 2 s.
	EventAhead time.Duration
}

func (o Options) withDefaults() Options {
	if o.ViewAge <= 0 {
		o.ViewAge = ViewAge
	}
	if o.EventAhead <= 0 {
		o.EventAhead = MaxAhead
	}
	return Options{min(o.ViewAge, MaxViewAge), min(o.EventAhead, MaxEventAhead)}
}

// lead is how long after its change a count comes into force.
func (o Options) lead() time.Duration { return o.ViewAge + o.EventAhead + CommitTime + Clocks }

// mapTimes are what keeps a view from missing a change. Only tests have others.
type mapTimes struct {
	overlap  time.Duration // a poll reads the log from so long before the last one
	loadBack time.Duration // a load reads the log from so long before its begin
	reload   time.Duration // a view that is older is loaded anew
}

// A change has the time of its commit's begin in the log. It is there a second later at
// most, by a clock that is a second off: what a poll did not see yet is less than 2 s
// older than that poll. The rest is for a transaction whose caller has given it up. TTL
// takes log items after logTime, which is far beyond the age that a view is polled at.
var soundTimes = mapTimes{overlap: 5 * time.Second, loadBack: 10 * time.Second, reload: 30 * time.Minute}

const (
	logTime       = 2 * time.Hour  // how long log items are kept
	tombstoneTime = 24 * time.Hour // how long the item of a deleted key is
)

// LongestLife is the longest window of a limit, by whose begin's shard count the limit is
// divided.
const LongestLife = 720 * time.Hour

// HistoryKept is for how long changes of shard counts are to be kept where events are for
// this long, 0 for ever: it is [ChangerOptions].Keep. Limits go by the counts of as long ago
// as their windows last.
func HistoryKept(events time.Duration) time.Duration {
	if events == 0 {
		return 0
	}
	return max(events, LongestLife+24*time.Hour)
}
