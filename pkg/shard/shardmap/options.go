package shardmap

import "time"

// Defaults of the shard map's times; see [Options].
const (
	// ViewAge is the age beyond which a view of the shard map is renewed.
	ViewAge = time.Second
	// MaxAhead is how far ahead of now an item's time may be, if the item's write shard depends on this time.
	MaxAhead = 2 * time.Second
	// LeadTime is how long after its change a shard count takes effect.
	LeadTime = ViewAge + MaxAhead + CommitTime + HostClocks
)

// Times that no option changes.
const (
	// CommitTime bounds the time from a change's date to its commit. A later commit is not attempted.
	CommitTime = time.Second
	// HostClocks bounds the difference between the clocks of two processes that write items whose write shard follows
	// from their time. NTP keeps hosts within milliseconds.
	HostClocks = 250 * time.Millisecond
	// Clocks bounds the difference between the clocks of any two processes that use the map.
	Clocks = time.Second
)

// Bounds of Options.
const (
	MaxViewAge    = 5 * time.Second
	MaxEventAhead = 8 * time.Second
)

// Margin is how far before and after an item's time readers consider the shard counts. A new item uses the largest count
// from its time to Margin later. Margin is longer than any lead, since processes don't know each other's options.
const Margin = MaxViewAge + MaxEventAhead + 2*Clocks

// LateMargin is the Margin that includes late changes. A late change is committed up to LateTime after its date, and
// views have it within another LateTime. Look-ups use LateMargin for an item that is not where it is expected.
const LateMargin = 2*LateTime + Margin

// Options are the times of a shard map. All processes that share a map must use equal Options.
// The zero value is ready to use.
//
// A changed shard count takes effect after the lead, the sum of ViewAge, EventAhead, [CommitTime]
// and [HostClocks]: the age of a view, how far ahead an item's time may be, the time to commit, and the
// difference of clocks. So all processes agree on the count at t before any of them writes an item
// of time t. New items don't wait for the lead: see [Entry.CountOfNew].
type Options struct {
	// ViewAge is the age beyond which a view is renewed; at most MaxViewAge, default 1 s. Each active process makes one
	// read per ViewAge. All go to one partition, which takes 3,000 RCU/s.
	ViewAge time.Duration
	// EventAhead is how far ahead of now an item's time may be, if the item's write shard depends on this time; at most
	// MaxEventAhead, default 2 s.
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

// lead returns how long after its change a count takes effect.
func (o Options) lead() time.Duration { return o.ViewAge + o.EventAhead + CommitTime + HostClocks }

// LookBack is the time between two polls that also find late commits: each reads two minutes of the log. So all views
// have a late commit within LookBack and ViewAge.
const LookBack = 5 * time.Second

// Times that keep a view from missing a change. A log item has the time at which its commit began. It appears within
// CommitTime, and its writer's clock may be off by Clocks. So a change that a poll missed is less than 2 s older than
// the poll; the rest of overlap covers slow polls. Once in LookBack, a poll also finds changes that were committed up
// to LateTime late because their Changer died. A load reads the log of at most reload + maxLoadTime + loadBack +
// RenewTime. TTL deletes log items after logTime, at least twice as long.
const (
	overlap       = 5 * time.Second  // a poll reads the log from this long before the last poll
	loadBack      = 2 * time.Minute  // a load reads the log from this long before its keys, and a look back from this long before the last one
	reload        = 30 * time.Minute // the age beyond which a view is loaded again, and a snapshot is not used
	logTime       = 2 * time.Hour    // how long log items are kept
	tombstoneTime = 24 * time.Hour   // how long the item of a deleted key is kept
)

// LongestLife is the longest window of a limit, a month of 31 days. A limit is divided by the shard count at
// its window's beginning, so this count must be known until the window's end.
const LongestLife = 31 * 24 * time.Hour

// HistoryKept returns the shortest [ChangerOptions].Keep that suffices for limits and for events of this retention. For
// both, 0 means forever.
func HistoryKept(retention time.Duration) time.Duration {
	if retention == 0 {
		return 0
	}
	return max(retention, LongestLife+24*time.Hour)
}
