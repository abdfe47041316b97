package growth

import (
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Answer is what the process must do after an attempt.
type Answer int

// The answers.
const (
	Nothing Answer = iota
	Refresh        // read the key's entry: another process may have raised its count
	Ask            // read the key's entry, and raise its count unless it has been raised
	Bounded        // the count would rise, but more write shards don't help: once a minute
)

// MaxKeys bounds the keys whose attempts a process keeps. Each takes up to 1,200 bytes and its name.
const MaxKeys = 10_000

// Keys keeps the recent attempts of a process by key. Many goroutines may call its methods.
// Times are by the wall clock, since the monotonic clock of a frozen process stands still.
type Keys struct {
	mu      sync.Mutex
	max     int
	young   map[string]*evidence // of keys with an attempt since the last turn
	old     map[string]*evidence // of keys with an attempt in the turn before, and none since
	bounded time.Time            // when a key was last at the bound
}

// NewKeys returns a Keys that keeps the attempts of at most that many keys. It drops the least recently
// used keys first.
func NewKeys(most int) *Keys {
	return &Keys{max: most, young: map[string]*evidence{}}
}

// Observe keeps an attempt and returns what to do. Bound is the largest useful count. After Refresh, the
// caller reads the entry into its view. After Ask, it changes the count if the entry is unchanged and the
// key is still [Keys.Entitled], and then calls [Keys.Asked]. Before both it waits a random time of at
// most [MaxWait]. The answer for a key without a kind is Nothing.
func (k *Keys) Observe(a shard.Attempt, bound int, now time.Time) Answer {
	if a.Kind == "" {
		return Nothing
	}
	p := placementOf(a)
	now = now.Round(0)
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.evidenceOf(a.Key)
	if !e.observe(a, p, now) || a.Outcome == shard.Accepted {
		return Nothing
	}
	if !e.entitled(a, p, k.tight(now), now) {
		if p == kind.Random && a.Shards < bound && e.startRefresh(now) {
			return Refresh
		}
		return Nothing
	}
	if a.Shards >= bound {
		k.bounded = now
		if now.Sub(e.warned).Abs() < warnEvery {
			return Nothing
		}
		e.warned = now
		return Bounded
	}
	if p == kind.Indexed && now.Sub(a.Changed) < moveTime || !e.mayAsk(now) {
		return Nothing
	}
	return Ask
}

func placementOf(a shard.Attempt) kind.Placement { return kind.Of(kind.Kind(a.Kind)).Placement }

// Entitled reports whether the evidence for a larger count than this attempt's still holds.
func (k *Keys) Entitled(a shard.Attempt, now time.Time) bool {
	p := placementOf(a)
	now = now.Round(0)
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.evidenceOf(a.Key)
	return e.version == a.Version && e.entitled(a, p, k.tight(now), now)
}

// Asked notes the version of the key's entry. A newer version begins without attempts; an unchanged entry
// is read less and less often.
func (k *Keys) Asked(key string, version int64, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.evidenceOf(key).readVersion(version, now.Round(0))
}

// tight reports whether the table's partitions are the limit, as far as this process knows.
func (k *Keys) tight(now time.Time) bool { return now.Sub(k.bounded) < tightTime }

// evidenceOf returns a key's evidence; it may drop other keys'. The caller holds mu.
func (k *Keys) evidenceOf(key string) *evidence {
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
