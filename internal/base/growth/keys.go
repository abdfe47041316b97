package growth

import (
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Answer is what the process must do after an attempt.
type Answer int

// The answers.
const (
	Nothing Answer = iota
	Refresh        // read the key's entry: another process may have raised its count
	Ask            // read the key's entry, and raise its count unless it has been raised
	Bounded        // warn that more write shards would not help; at most once a minute for a key
)

// MaxKeys bounds the keys whose attempts a process keeps. Each key takes up to 1,200 bytes and its name.
const MaxKeys = 10_000

// Keys keeps a process's recent attempts by key. It is safe for concurrent use. It compares times by
// the wall clock, since the monotonic clock of a frozen process stands still.
type Keys struct {
	mu      sync.Mutex
	max     int
	young   map[string]*evidence // keys with an attempt since young was last full
	old     map[string]*evidence // the previous young; dropped when young is full again
	bounded time.Time            // when a key at the bound last needed more write shards
}

// NewKeys returns a Keys that keeps the attempts of at most that many keys. It drops the least recently
// used keys first.
func NewKeys(maxKeys int) *Keys {
	return &Keys{max: maxKeys, young: map[string]*evidence{}}
}

// Observe keeps an attempt and returns what the caller must do. bound is the largest useful count: see [Bound]. Before it
// reads the entry, the caller waits a random time of at most [MaxWait]. After Refresh, it reads the entry into its view.
// After Ask, it reads the entry, raises the count if the entry is unchanged and [Keys.MayGrow] holds, and calls
// [Keys.Asked]. The answer is Nothing for a key without a kind.
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
	if !e.justifiesGrowth(a, p, k.tight(now), now) {
		anyShard := p == schema.RandomPlacement || a.New // so a larger count helps at once
		if anyShard && a.Shards < bound && e.startRefresh(now) {
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
	rowsMove := p == schema.IndexedPlacement && now.Sub(a.Changed) < moveTime
	if rowsMove || !e.startAsk(now) {
		return Nothing
	}
	return Ask
}

func placementOf(a shard.Attempt) schema.Placement {
	return schema.TraitsOf(schema.Kind(a.Kind)).Placement
}

// MayGrow reports whether there is still evidence that the key needs more write shards than this attempt used.
func (k *Keys) MayGrow(a shard.Attempt, now time.Time) bool {
	p := placementOf(a)
	now = now.Round(0) // without the monotonic clock
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.evidenceOf(a.Key)
	return e.version == a.Version && e.justifiesGrowth(a, p, k.tight(now), now)
}

// Asked notes the version of the key's entry after Ask. A newer version starts without attempts. Each
// read of an unchanged entry doubles the time to the next Ask.
func (k *Keys) Asked(key string, version int64, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.evidenceOf(key).noteVersion(version, now.Round(0))
}

// tight reports whether a key at the bound recently needed more write shards. Then the table's partitions are the
// limit, and not the shard counts.
func (k *Keys) tight(now time.Time) bool { return now.Sub(k.bounded) < tightTime }

// evidenceOf returns a key's evidence, which it creates if needed. It may drop the evidence of other keys. The caller
// holds mu.
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
		e = &evidence{askPause: minPause}
	}
	k.young[key] = e
	return e
}
