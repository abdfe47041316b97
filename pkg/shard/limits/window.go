package limits

import (
	"math/rand/v2"
	"sync"
	"time"
)

// limitWindow is a process's cache of one window of a limit's key. It never makes calls allow more than Max hits, since
// the conditions of the writes decide.
type limitWindow struct {
	mu           sync.Mutex
	used         map[int]use   // by write shard: its last known use
	spent        map[int]int64 // by write shard without a share: the highest Max with which no quota is left or received
	lastRead     time.Time     // the last read of all write shards
	othersAtRead int64         // all hits at lastRead, less this process's hits until then
	own          int64         // hits of this process, less the hits that it gave back

	highestMax int64 // highest Max of this process's calls
	previous   previous
}

// use is the use of a write shard.
type use struct {
	used int64 // hits, and quota that was transferred to others; negative if quota was transferred to it
	hits int64 // never negative
}

func newLimitWindow() *limitWindow {
	return &limitWindow{used: map[int]use{}, spent: map[int]int64{}}
}

func (w *limitWindow) cacheUse(n int, u use) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.used[n] = u
}

// cacheChange caches a change that a transaction made, or may have made. before is the use that was cached before the
// transaction. If another use is cached now, it may already include the change, so cacheChange drops it. It also drops
// the use of a write shard without a share after an unknown outcome, since that write shard may have received quota.
func (w *limitWindow) cacheChange(c change, before use, made, hasShare bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case made && w.used[c.n] == before:
		w.used[c.n] = use{before.used + c.used, before.hits + c.hits}
	case made || !hasShare:
		delete(w.used, c.n)
	}
}

// addOwnHits adds hits of this process. Hits that are given back are quota again, which may be transferred.
func (w *limitWindow) addOwnHits(hits int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.own += hits
	if hits < 0 {
		clear(w.spent)
	}
}

// ownHits returns the hits of this process, less the hits that it gave back.
func (w *limitWindow) ownHits() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.own
}

// setTotal caches the total of the hits on all write shards, which have just been read. own is the number of this
// process's hits when the read began.
func (w *limitWindow) setTotal(shards int, own int64, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lastRead, w.othersAtRead = now, -own
	for n := range shards {
		w.othersAtRead += w.used[n].hits
	}
}

// totalUsed returns the hits at the last read plus this process's hits since. A hit that was in flight at the read may
// count twice, so totalUsed bounds the result by the highest limit with which it was called.
func (w *limitWindow) totalUsed(limit int64) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.highestMax = max(w.highestMax, limit)
	return min(max(w.othersAtRead+w.own, 0), w.highestMax)
}

// hits returns the cached hits on each write shard.
func (w *limitWindow) hits(shards int) []int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := make([]int64, shards)
	for n := range list {
		list[n] = w.used[n].hits
	}
	return list
}

// forgetSpent lets write shards without a share get quota again, since hits may have been given back.
func (w *limitWindow) forgetSpent() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.spent)
}

// setSpent caches that a write shard without a share has no quota left and receives none. The caller must have known
// before its read that all write shards with a share were full, since these could have transferred quota.
func (w *limitWindow) setSpent(n int, limit int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spent[n] = max(w.spent[n], limit)
}

// expireRead makes the next claimRead return true.
func (w *limitWindow) expireRead() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lastRead = time.Time{}
}

// claimRead reports whether the caller should read all write shards, since the last read is at least maxAge old. Of
// concurrent calls only one returns true.
func (w *limitWindow) claimRead(now time.Time, maxAge time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if age := now.Sub(w.lastRead); age >= 0 && age < maxAge {
		return false
	}
	w.lastRead = now
	return true
}

// chooseShard returns a write shard that may have quota; ok is false if there is none. Its order is: write shards without
// a share, since transfers load the partitions of those with one; write shards with a share; write shards at or above the
// newest count. Among those without a share, three of four calls first try the ones with quota left from a transfer, the
// fourth first tries the ones that need a transfer. last is the call's previous write shard, which comes up less often.
func (w *limitWindow) chooseShard(d *division, last int) (n int, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var withQuota, withoutQuota, withShare, aboveNewest []int
	for n := range d.allShards {
		switch {
		case w.isFull(d, n):
		case n >= d.newest:
			aboveNewest = append(aboveNewest, n)
		case d.hasShare(n):
			withShare = append(withShare, n)
		case w.used[n].used < 0 && n != last:
			withQuota = append(withQuota, n)
		default:
			withoutQuota = append(withoutQuota, n)
		}
	}
	if rand.IntN(4) == 0 {
		withQuota, withoutQuota = withoutQuota, withQuota
	}
	for _, list := range [][]int{withQuota, withoutQuota, withShare, aboveNewest} {
		if len(list) == 0 {
			continue
		}
		n = list[rand.IntN(len(list))]
		if n == last { // draw again: the second write shard is usually another
			n = list[rand.IntN(len(list))]
		}
		return n, true
	}
	return 0, false
}

// isFull reports whether a write shard is known to have no quota and to receive none. The caller holds
// the window's lock.
func (w *limitWindow) isFull(d *division, n int) bool {
	if !d.hasShare(n) {
		limit, spent := w.spent[n]
		return spent && d.Max <= limit
	}
	used, known := w.used[n]
	isUsedUp := known && used.used >= d.share(n)
	return isUsedUp || d.share(n) == 0
}

// remaining returns an upper bound of each write shard's remaining quota; other processes may have used some of it.
func (w *limitWindow) remaining(d *division) []int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	left := make([]int64, d.allShards)
	for n := range left {
		if !w.isFull(d, n) {
			left[n] = max(0, d.share(n)-w.used[n].used)
		}
	}
	return left
}

// full reports whether the first count write shards are known to be full.
func (w *limitWindow) full(d *division, count int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n := range count {
		if !w.isFull(d, n) {
			return false
		}
	}
	return true
}

// knownUse returns a write shard's cached use; ok is false if none is cached.
func (w *limitWindow) knownUse(n int) (u use, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, ok = w.used[n]
	return u, ok
}
