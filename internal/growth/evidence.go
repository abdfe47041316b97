package growth

import "time"

// What entitles a process to ask for more write shards, and how often it asks.
const (
	keptTries    = 6               // attempts of a key that are kept in mind
	attemptAge   = 2 * time.Second // and count: an hour of success must not outvote a storm
	leastTries   = 3
	keptCalls    = 10 // requests of a key that are kept in mind
	requestAge   = 5 * time.Second
	leastCalls   = 3  // of a key that is busy: fewer are a quiet key's, refused for its neighbour
	leastRefused = 2  // of these; where places are calculated, of different items
	tightCalls   = 10 // in the place of leastCalls, for a key with one write shard where the partitions are the limit
	tightTime    = 10 * time.Second

	recentTime = 10 * time.Second // events of earlier or later than that don't move: a backfill's
	moveTime   = time.Minute      // how long rows of an index take to move: until then they are refused as before

	// MaxWait bounds the random wait before a key's entry is read: processes that are
	// entitled in the same moment are not to read it all at once.
	MaxWait   = 50 * time.Millisecond
	minPause  = 300 * time.Millisecond // between readings of an entry
	maxPause  = 5 * time.Second        // the same, while nothing changes
	tellEvery = time.Minute
)

// evidence is what became of one key's writes of late.
type evidence struct {
	version  int64     // of the count that the attempts were sent by
	since    time.Time // when that was first heard of
	attempts []attempt // the last that say something of that count
	requests []request // the last

	read  time.Time     // when the entry was read last, to have the key grow
	pause time.Duration // until it may be again
	look  time.Time     // when the entry was read last, to learn what others did
	wait  time.Duration // until it may be again for that
	told  time.Time     // when it was said last that the key is at the bound
}

type attempt struct {
	at      time.Time
	refused bool
}

type request struct {
	at      time.Time
	id      uint64
	refused bool // once at least
}

// begin forgets the attempts of another version.
func (e *evidence) begin(version int64, now time.Time) {
	e.version, e.since = version, now
	e.attempts, e.pause, e.wait = e.attempts[:0], minPause, minPause
}

// note takes an attempt in. It tells whether that says anything of the count in force.
func (e *evidence) note(a Attempt, now time.Time) bool {
	if a.Version < e.version && now.Sub(e.since) < recentTime {
		return false // sent before the change; long after it, the key was deleted
	}
	if a.Version != e.version {
		e.begin(a.Version, now)
	}
	if a.Placement == Timed && (a.At.Before(a.Effective) || !recent(a.At, now)) {
		return false
	}
	e.attempts = keep(e.attempts, attempt{now, a.Refused}, keptTries)
	for i := range e.requests {
		if a.Refused && e.requests[i].id == a.Request {
			e.requests[i].refused = true
		}
	}
	return true
}

// keep appends to a list of the newest, of which the oldest goes.
func keep[T any](list []T, v T, most int) []T {
	if len(list) == most {
		copy(list, list[1:])
		list = list[:most-1]
	}
	return append(list, v)
}

// entitled tells whether a larger count may be asked for.
func (e *evidence) entitled(a Attempt, tight bool, now time.Time) bool {
	tries, refused := e.tries(now)
	least := leastCalls
	if tight && a.Count == 1 {
		least = tightCalls
	}
	return tries >= leastTries && 2*refused >= tries && e.busy(a.Placement, least, now)
}

// tries counts the attempts of late, and those of them that were refused.
func (e *evidence) tries(now time.Time) (all, refused int) {
	for _, t := range e.attempts {
		if now.Sub(t.at) > attemptAge {
			continue
		}
		all++
		if t.refused {
			refused++
		}
	}
	return all, refused
}

// busy tells whether enough requests were made and refused lately. Where places are calculated
// they must be of different items, none of which is half of all: one item has one place,
// whatever the count.
func (e *evidence) busy(p Placement, least int, now time.Time) bool {
	calls, refused, most := 0, 0, 0
	items, refusedItems := map[uint64]int{}, map[uint64]bool{}
	for _, r := range e.requests {
		if now.Sub(r.at) > requestAge {
			continue
		}
		calls++
		items[r.id]++
		most = max(most, items[r.id])
		if r.refused {
			refused++
			refusedItems[r.id] = true
		}
	}
	if p == Random {
		return calls >= least && refused >= leastRefused
	}
	return calls >= least && len(refusedItems) >= leastRefused && 2*most < calls
}

// mayAsk tells whether the entry may be read now; then it counts as read.
func (e *evidence) mayAsk(now time.Time) bool {
	passed := now.Sub(e.read).Abs()
	if passed < e.pause {
		return false
	}
	if passed > 2*maxPause { // another storm
		e.pause = minPause
	}
	e.read = now
	return true
}

// mayLook tells whether the entry may be read for what others did; then it counts as read. One
// refusal is no reason: a partition may be full for a moment.
func (e *evidence) mayLook(now time.Time) bool {
	passed := now.Sub(e.look).Abs()
	if passed > 2*maxPause { // another storm
		e.wait = minPause
	}
	if _, refused := e.tries(now); refused < 2 || passed < e.wait {
		return false
	}
	e.look, e.wait = now, min(2*e.wait, maxPause)
	return true
}

// asked takes in the version that the entry has.
func (e *evidence) asked(version int64, now time.Time) {
	if version > e.version {
		e.begin(version, now)
		return
	}
	e.pause = min(2*e.pause, maxPause)
}

// recent tells whether an event's time is about now.
func recent(at, now time.Time) bool { return now.Sub(at).Abs() <= recentTime }
