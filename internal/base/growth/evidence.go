package growth

import (
	"cmp"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Bounds of the evidence by which a process asks for more write shards, and of how often it asks.
const (
	maxAttempts   = 6               // attempts that are kept for a key
	attemptAge    = 2 * time.Second // older attempts don't count: an hour of success must not outvote a storm
	minAttempts   = 3
	maxCalls      = 10 // calls that are kept for a key
	callAge       = 5 * time.Second
	minCalls      = 3                // fewer may be throttled because of another key in the partition
	minThrottled  = 2                // throttled calls, each on a different write shard of those added last: see enoughCalls
	manyAdded     = 32               // if the newest change added more write shards, one more call must be throttled
	minCallsTight = 10               // instead of minCalls, for a key with one write shard if the partitions are the limit
	tightTime     = 10 * time.Second // how long a key at the bound shows that the partitions are the limit

	recentTime = 10 * time.Second // more write shards don't help events of other times, such as a backfill's
	moveTime   = time.Minute      // how long an index's rows take to move to new write shards

	// MaxWait bounds the random wait before a key's entry is read, so that many processes don't
	// read it at once.
	MaxWait   = 50 * time.Millisecond
	minPause  = 300 * time.Millisecond // between two reads of an entry
	maxPause  = 5 * time.Second        // between two reads of an entry that does not change
	warnEvery = time.Minute
)

// evidence is the recent attempts of one key.
type evidence struct {
	version  int64       // version of the entry by which the attempts were sent
	since    time.Time   // when the first attempt with that version was observed
	attempts []attempt   // the newest conclusive attempts with that version
	calls    []writeCall // the newest calls, with any version, ordered by number

	asked        time.Time     // when the entry was last read to raise the count
	askPause     time.Duration // least time between two such reads
	refreshed    time.Time     // when the entry was last read for other processes' changes
	refreshPause time.Duration // least time between two such reads
	warned       time.Time     // when the answer was last Bounded
	saturation   saturation
}

type attempt struct {
	at        time.Time
	throttled bool
}

// writeCall is a call of a writer. It counts once, whatever the number of its attempts.
type writeCall struct {
	number    uint64
	at        time.Time // when its first attempt was observed
	items     uint64    // a hash of its items; 0 if write shards are random
	throttled bool      // an attempt was throttled on a write shard that is evidence
	shard     int       // with throttled: the last such write shard
}

// startVersion sets the version, drops the attempts and throttles of the old one, and resets the pauses. Calls stay.
func (e *evidence) startVersion(version int64, now time.Time) {
	e.version, e.since = version, now
	for i := range e.calls {
		e.calls[i].throttled = false
	}
	e.attempts, e.askPause, e.refreshPause = e.attempts[:0], minPause, minPause
}

// observe keeps an attempt that is evidence about the count in force, and reports whether it is. It keeps the calls of
// other attempts, too, except those of events of another time. A conflict is evidence only if write shards are random.
// If they are calculated, the writes conflict over one item, which a larger count does not relieve.
func (e *evidence) observe(a shard.Attempt, p schema.Placement, now time.Time) bool {
	e.saturation.observe(a, now)
	if p == schema.TimedPlacement && !recent(a.At, now) {
		return false
	}
	i, kept := e.keepCall(a, now)
	overOneItem := a.Outcome == shard.Conflicted && p != schema.RandomPlacement
	if a.Outcome == shard.Inconclusive || overOneItem {
		return false
	}
	if a.Version < e.version && now.Sub(e.since) < recentTime {
		return false // sent before the change; long after it, a lower version is of a key that was deleted
	}
	if a.Version != e.version {
		e.startVersion(a.Version, now)
	}
	byOldCount := p == schema.TimedPlacement && !a.New && a.At.Before(a.Effective)
	if byOldCount || !isAdded(a) {
		return false
	}
	throttled := a.Outcome != shard.Accepted
	if len(e.attempts) == maxAttempts {
		e.attempts = slices.Delete(e.attempts, 0, 1)
	}
	e.attempts = append(e.attempts, attempt{now, throttled})
	if kept && throttled {
		e.calls[i].throttled, e.calls[i].shard = true, a.Shard
	}
	return true
}

// isAdded reports whether the newest change added the attempt's write shard, or lowered the count. Processes that
// don't know the change also write to older write shards, whose throttles are no evidence about the new count.
func isAdded(a shard.Attempt) bool { return a.Shard >= a.Before || a.Before >= a.Shards }

// keepCall keeps an attempt's call and returns its index in e.calls, which are ordered by number. The number rises with
// the start of a call. kept is false if the list is full and all its calls began later.
func (e *evidence) keepCall(a shard.Attempt, now time.Time) (i int, kept bool) {
	i, found := slices.BinarySearchFunc(e.calls, a.Call, func(c writeCall, number uint64) int { return cmp.Compare(c.number, number) })
	switch {
	case found:
		return i, true
	case len(e.calls) == maxCalls && i == 0:
		return 0, false
	case len(e.calls) == maxCalls:
		e.calls = slices.Delete(e.calls, 0, 1)
		i--
	}
	e.calls = slices.Insert(e.calls, i, writeCall{number: a.Call, at: now, items: a.Items})
	return i, true
}

// justifiesGrowth reports whether the evidence justifies a larger count than the attempt's. tight means that the table's
// partitions are the limit.
func (e *evidence) justifiesGrowth(a shard.Attempt, p schema.Placement, tight bool, now time.Time) bool {
	attempts, throttled := e.countAttempts(now)
	leastCalls := minCalls
	if tight && a.Shards == 1 {
		leastCalls = minCallsTight
	}
	return attempts >= minAttempts && 2*throttled >= attempts && e.enoughCalls(a, p, leastCalls, now)
}

// countAttempts counts the recent attempts, and those of them that were throttled.
func (e *evidence) countAttempts(now time.Time) (all, throttled int) {
	for _, t := range e.attempts {
		if now.Sub(t.at) > attemptAge {
			continue
		}
		all++
		if t.throttled {
			throttled++
		}
	}
	return all, throttled
}

// enoughCalls reports whether enough recent calls were made and throttled. Throttled calls with one throttleID count once.
// If write shards are calculated, an item has one write shard whatever the count. So no item may be in half of all calls
// then.
func (e *evidence) enoughCalls(a shard.Attempt, p schema.Placement, leastCalls int, now time.Time) bool {
	calls, mostOfAnItem := 0, 0
	callsOfItem, throttled := map[uint64]int{}, map[uint64]bool{} // throttled is by throttleID
	for _, c := range e.calls {
		if now.Sub(c.at) > callAge {
			continue
		}
		calls++
		callsOfItem[c.items]++
		mostOfAnItem = max(mostOfAnItem, callsOfItem[c.items])
		if c.throttled {
			throttled[c.throttleID(a, p)] = true
		}
	}
	leastThrottled := minThrottled
	if a.Shards-a.Before > manyAdded { // of many write shards, two are throttled by chance
		leastThrottled++
	}
	manyItems := p == schema.RandomPlacement || 2*mostOfAnItem < calls
	return calls >= leastCalls && len(throttled) >= leastThrottled && manyItems
}

// throttleID returns the write shard of a throttled call. A larger count does not relieve a single write shard, which may
// share its partition with another hot key. For a key with one write shard, throttleID returns the call's number if write
// shards are random, else the call's items.
func (c *writeCall) throttleID(a shard.Attempt, p schema.Placement) uint64 {
	switch {
	case a.Shards > 1:
		return uint64(c.shard)
	case p == schema.RandomPlacement:
		return c.number
	}
	return c.items
}

// startAsk reports whether it is time to read the entry to raise the count. If so, it sets the time of the read.
func (e *evidence) startAsk(now time.Time) bool {
	passed := now.Sub(e.asked).Abs()
	if passed < e.askPause {
		return false
	}
	if passed > 2*maxPause { // another storm
		e.askPause = minPause
	}
	e.asked = now
	return true
}

// startRefresh reports whether it is time to read the entry for changes of other processes, after two recent throttles
// or more: one may mean a moment at the limit. If so, it sets the time of the read, and doubles the pause.
func (e *evidence) startRefresh(now time.Time) bool {
	passed := now.Sub(e.refreshed).Abs()
	if passed > 2*maxPause { // another storm
		e.refreshPause = minPause
	}
	if _, throttled := e.countAttempts(now); throttled < 2 || passed < e.refreshPause {
		return false
	}
	e.refreshed, e.refreshPause = now, min(2*e.refreshPause, maxPause)
	return true
}

// noteVersion notes the version of the entry that was read after an Ask. If the version is not newer, the pause before the
// next Ask doubles.
func (e *evidence) noteVersion(version int64, now time.Time) {
	if version > e.version {
		e.startVersion(version, now)
		return
	}
	e.askPause = min(2*e.askPause, maxPause)
}

// recent reports whether an event's time is within recentTime of now.
func recent(at, now time.Time) bool { return now.Sub(at).Abs() <= recentTime }
