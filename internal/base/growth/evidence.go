package growth

import (
	"cmp"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Bounds of the evidence by which a process asks for more write shards, and of how often it asks.
const (
	keptTries      = 6               // attempts of a key that are kept
	attemptAge     = 2 * time.Second // older ones don't count: an hour of success must not outvote a storm
	leastTries     = 3
	keptCalls      = 10 // calls of a key that are kept
	callAge        = 5 * time.Second
	leastCalls     = 3  // fewer may be throttled because of a neighbour in the partition
	leastThrottled = 2  // of these calls, each on another write shard if there are several: see busy
	manyAdded      = 32 // write shards: if the newest change added more, one more call must be throttled
	tightCalls     = 10 // instead of leastCalls, for a key with one write shard if the partitions are the limit
	tightTime      = 10 * time.Second

	recentTime = 10 * time.Second // more write shards don't help events of other times, such as a backfill's
	moveTime   = time.Minute      // how long rows of an index take to move; until then they are throttled as before

	// MaxWait bounds the random wait before a key's entry is read, so that many processes don't
	// read it at once.
	MaxWait   = 50 * time.Millisecond
	minPause  = 300 * time.Millisecond // between readings of an entry
	maxPause  = 5 * time.Second        // the same, while nothing changes
	warnEvery = time.Minute
)

// evidence is the recent attempts of one key.
type evidence struct {
	version  int64       // of the count that the attempts were sent by
	since    time.Time   // of the first attempt with that version
	attempts []attempt   // the last conclusive attempts by that count
	calls    []writeCall // the last calls, by number

	asked     time.Time     // when the entry was last read to raise the count
	pause     time.Duration // until the entry may be read again for that
	refreshed time.Time     // when the entry was last read to adopt other processes' changes
	wait      time.Duration // until the entry may be read again for that
	warned    time.Time     // when the answer was last Bounded
}

type attempt struct {
	at        time.Time
	throttled bool
}

// writeCall is a call of a writer. It counts once, whatever the number of its attempts.
type writeCall struct {
	number    uint64
	at        time.Time // of its first attempt
	items     uint64    // see [shard.Attempt]
	throttled bool      // once at least, on a write shard that is evidence
	shard     int       // that one
}

// begin drops the attempts of another version.
func (e *evidence) begin(version int64, now time.Time) {
	e.version, e.since = version, now
	for i := range e.calls {
		e.calls[i].throttled = false
	}
	e.attempts, e.pause, e.wait = e.attempts[:0], minPause, minPause
}

// observe keeps an attempt and its call. It reports whether the attempt is evidence about the count
// in force. A conflict is evidence only if write shards are random: another call has no business
// with an item whose write shard is calculated.
func (e *evidence) observe(a shard.Attempt, p kind.Placement, now time.Time) bool {
	if p == kind.Timed && !recent(a.At, now) {
		return false
	}
	i, kept := e.keepCall(a, now)
	if a.Outcome == shard.Inconclusive || a.Outcome == shard.Conflicted && p != kind.Random {
		return false
	}
	if a.Version < e.version && now.Sub(e.since) < recentTime {
		return false // sent before the change; long after it, the key was deleted
	}
	if a.Version != e.version {
		e.begin(a.Version, now)
	}
	if p == kind.Timed && a.At.Before(a.Effective) || !added(a) {
		return false
	}
	throttled := a.Outcome != shard.Accepted
	if len(e.attempts) == keptTries {
		e.attempts = slices.Delete(e.attempts, 0, 1)
	}
	e.attempts = append(e.attempts, attempt{now, throttled})
	if kept && throttled {
		e.calls[i].throttled, e.calls[i].shard = true, a.Shard
	}
	return true
}

// added reports whether the newest change added the attempt's write shard. The older write shards are also
// written to by processes that don't know the change, so their throttles say nothing about the new count.
func added(a shard.Attempt) bool { return a.Shard >= a.Before || a.Before >= a.Shards }

// keepCall keeps an attempt's call and returns its index. Calls are ordered by their begin: a call with a
// lower number than all kept ones was dropped before and is not kept again.
func (e *evidence) keepCall(a shard.Attempt, now time.Time) (i int, kept bool) {
	i, found := slices.BinarySearchFunc(e.calls, a.Call, func(c writeCall, number uint64) int { return cmp.Compare(c.number, number) })
	switch {
	case found:
		return i, true
	case len(e.calls) < keptCalls:
	case i == 0:
		return 0, false
	default:
		e.calls = slices.Delete(e.calls, 0, 1)
		i--
	}
	e.calls = slices.Insert(e.calls, i, writeCall{number: a.Call, at: now, items: a.Items})
	return i, true
}

// entitled reports whether a larger count may be asked for.
func (e *evidence) entitled(a shard.Attempt, p kind.Placement, tight bool, now time.Time) bool {
	tries, throttled := e.tries(now)
	least := leastCalls
	if tight && a.Shards == 1 {
		least = tightCalls
	}
	return tries >= leastTries && 2*throttled >= tries && e.busy(a, p, least, now)
}

// tries counts the recent attempts, and those of them that were throttled.
func (e *evidence) tries(now time.Time) (all, throttled int) {
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

// busy reports whether enough recent calls were made and throttled. The throttled ones must be on different
// write shards: one that shares its partition with another hot one is not relieved by a larger count. With
// one write shard, they must be of different items if write shards are calculated. No item may be half of
// all calls then: it has one write shard, whatever the count.
func (e *evidence) busy(a shard.Attempt, p kind.Placement, least int, now time.Time) bool {
	calls, most := 0, 0
	items, throttled := map[uint64]int{}, map[uint64]bool{}
	for _, c := range e.calls {
		if now.Sub(c.at) > callAge {
			continue
		}
		calls++
		items[c.items]++
		most = max(most, items[c.items])
		switch {
		case !c.throttled:
		case a.Shards > 1:
			throttled[uint64(c.shard)] = true
		case p == kind.Random:
			throttled[c.number] = true
		default:
			throttled[c.items] = true
		}
	}
	want := leastThrottled
	if a.Shards-a.Before > manyAdded { // of many write shards, two are likely to be unlucky
		want++
	}
	return calls >= least && len(throttled) >= want && (p == kind.Random || 2*most < calls)
}

// mayAsk reports whether the entry may be read now; then it counts as read.
func (e *evidence) mayAsk(now time.Time) bool {
	passed := now.Sub(e.asked).Abs()
	if passed < e.pause {
		return false
	}
	if passed > 2*maxPause { // another storm
		e.pause = minPause
	}
	e.asked = now
	return true
}

// startRefresh reports whether it is time to read the entry for the changes of other processes, and notes
// the read. One throttle is not enough: a partition may be full for a moment.
func (e *evidence) startRefresh(now time.Time) bool {
	passed := now.Sub(e.refreshed).Abs()
	if passed > 2*maxPause { // another storm
		e.wait = minPause
	}
	if _, throttled := e.tries(now); throttled < 2 || passed < e.wait {
		return false
	}
	e.refreshed, e.wait = now, min(2*e.wait, maxPause)
	return true
}

// readVersion notes the version that the entry has.
func (e *evidence) readVersion(version int64, now time.Time) {
	if version > e.version {
		e.begin(version, now)
		return
	}
	e.pause = min(2*e.pause, maxPause)
}

// recent reports whether an event's time is within recentTime of now.
func recent(at, now time.Time) bool { return now.Sub(at).Abs() <= recentTime }
