package growth

import (
	"sync"
	"time"
)

// Request is one request's write of a key, which may take many attempts.
type Request struct {
	Key       string
	Placement Placement
	ID        uint64    // tells it from others; where places are calculated, a hash of the items that it writes
	At        time.Time // what decides its write shard, where that is Timed
}

// Attempt is what became of one attempt of a write.
type Attempt struct {
	Key       string
	Placement Placement
	Request   uint64    // its ID
	Version   int64     // of the key's count, when it was sent
	Count     int       // the newest count of that version
	Effective time.Time // when that comes into force, where places are Timed; zero for always
	Changed   time.Time // when it was decided on; zero for never
	At        time.Time // what decides its write shard, where that is Timed
	Refused   bool      // as more write shards may cure
}

// Answer is what follows from an attempt.
type Answer int

// The answers.
const (
	Nothing Answer = iota
	Look           // read the key's entry: somebody else may have had it grow
	Ask            // read the key's entry, and have it grow unless it has
	Bounded        // it would grow, but more write shards don't help: said once a minute
)

// MaxKeys bounds the keys that a process keeps in mind. Each takes some 900 bytes at
// most, and its name.
const MaxKeys = 10_000

// Keys keeps in mind what became of a process's writes, by key. Its methods may be called
// by many goroutines. Times are by the wall clock: a frozen process's other one stands
// still.
type Keys struct {
	mu      sync.Mutex
	max     int
	young   map[string]*evidence // of the keys met since the last turn
	old     map[string]*evidence // of those met between that and the one before, but not since
	bounded time.Time            // when a key was at the bound last
}

// NewKeys returns a Keys that keeps at most so many keys in mind. Those that were not met
// for the longest time go first.
func NewKeys(most int) *Keys {
	return &Keys{max: most, young: map[string]*evidence{}}
}

// Requested notes a request, before its first attempt.
func (k *Keys) Requested(r Request, now time.Time) {
	now = now.Round(0)
	if r.Placement == Timed && !recent(r.At, now) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.of(r.Key)
	e.requests = keep(e.requests, request{at: now, id: r.ID}, keptCalls)
}

// Attempted notes an attempt, and returns what follows from all that is in mind. Bound is
// the largest count that helps. Who is told to Look reads the entry into its view, and
// changes nothing; who is told to Ask changes the count if the entry is no newer and the key
// still [Keys.Entitled], and then tells [Keys.Asked]. Both wait for a random while of up to
// [MaxWait] first.
func (k *Keys) Attempted(a Attempt, bound int, now time.Time) Answer {
	now = now.Round(0)
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.of(a.Key)
	if !e.note(a, now) || !a.Refused {
		return Nothing
	}
	if !e.entitled(a, k.tight(now), now) {
		if a.Placement == Random && a.Count < bound && e.mayLook(now) {
			return Look
		}
		return Nothing
	}
	if a.Count >= bound {
		k.bounded = now
		if now.Sub(e.told).Abs() < tellEvery {
			return Nothing
		}
		e.told = now
		return Bounded
	}
	if a.Placement == Indexed && now.Sub(a.Changed) < moveTime || !e.mayAsk(now) {
		return Nothing
	}
	return Ask
}

// Entitled tells whether the evidence for a larger count than this attempt's still holds.
func (k *Keys) Entitled(a Attempt, now time.Time) bool {
	now = now.Round(0)
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.of(a.Key)
	return e.version == a.Version && e.entitled(a, k.tight(now), now)
}

// Asked tells which version the key's entry has. A newer one begins without attempts; one
// that is the same is asked for less and less often.
func (k *Keys) Asked(key string, version int64, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.of(key).asked(version, now.Round(0))
}

// tight tells whether the table's partitions are the limit, as far as this process knows.
func (k *Keys) tight(now time.Time) bool { return now.Sub(k.bounded) < tightTime }

// of returns a key's evidence, and makes room for it. The caller holds mu.
func (k *Keys) of(key string) *evidence {
	e := k.young[key]
	if e != nil {
		return e
	}
	if len(k.young) >= (k.max+1)/2 {
		k.young, k.old = map[string]*evidence{}, k.young
	}
	if e = k.old[key]; e != nil {
		delete(k.old, key)
	} else {
		e = &evidence{pause: minPause}
	}
	k.young[key] = e
	return e
}
