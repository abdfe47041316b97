package limits

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// limitWindow is a process's cache of one window of a limit's key. It only saves calls: an
// empty cache gives the same results.
type limitWindow struct {
	mu    sync.Mutex
	used  map[int]int64 // by write shard: its last known use; negative if quota was transferred to it
	spent map[int]int64 // by write shard without a share or quota: the Max for which it gets no more quota
	read  time.Time     // the last read of all write shards
	all   int64         // total use at that read, less this process's hits until then
	own   atomic.Int64  // hits of this process

	highest int64 // highest Max of this process's calls
}

func newLimitWindow() *limitWindow {
	return &limitWindow{used: map[int]int64{}, spent: map[int]int64{}}
}

// cacheUsed caches a write shard's use. If the write shard has a share, its use only rises, so the
// highest value is the newest.
func (w *limitWindow) cacheUsed(n int, used int64, hasShare bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if old, known := w.used[n]; known && hasShare {
		used = max(used, old)
	}
	w.used[n] = used
}

// setTotal sets the total use of all write shards, which have just been read. own is the number of
// this process's hits when the read began.
func (w *limitWindow) setTotal(shards int, own int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = -own
	for n := range shards {
		w.all += w.used[n]
	}
}

// totalUsed returns the total use at the last read plus this process's hits since. A hit or a transfer
// that was in flight at the read may count twice, so the result is at most this process's highest Max.
// It ignores the use that writes returned for single write shards: a donor's use includes transferred
// quota, which is no hit.
func (w *limitWindow) totalUsed(limit int64) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.highest = max(w.highest, limit)
	return min(max(w.all+w.own.Load(), 0), w.highest)
}

// forget deletes a write shard's cached use, so that the next hit reads it.
func (w *limitWindow) forget(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.used, n)
}

// setSpent caches that a write shard without a share has no quota, and gets none. The caller must
// have known before its read that all write shards with a share were full: they could have transferred
// quota to it.
func (w *limitWindow) setSpent(n int, limit int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spent[n] = max(w.spent[n], limit)
}

// claimRead reports whether the caller should read all write shards, since the last read is too old. It
// returns true to only one of concurrent callers.
func (w *limitWindow) claimRead(now time.Time, every time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if age := now.Sub(w.read); age >= 0 && age < every {
		return false
	}
	w.read = now
	return true
}

// chooseShard returns a write shard that may have quota; ok is false if there is none. It prefers
// write shards without a share, since transfers load the partitions of those with one. Three of
// four hits go to one of these with known quota, and the fourth to one that gets quota by a
// transfer. Write shards beyond the newest count come last.
func (w *limitWindow) chooseShard(d *division, last int) (n int, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var withQuota, withoutQuota, withShare, older []int
	for n := range d.all {
		switch {
		case w.isFull(d, n):
		case n >= d.newest:
			older = append(older, n)
		case d.hasShare(n):
			withShare = append(withShare, n)
		case w.used[n] < 0 && n != last:
			withQuota = append(withQuota, n)
		default:
			withoutQuota = append(withoutQuota, n)
		}
	}
	if rand.IntN(4) == 0 {
		withQuota, withoutQuota = withoutQuota, withQuota
	}
	for _, list := range [][]int{withQuota, withoutQuota, withShare, older} {
		if len(list) == 0 {
			continue
		}
		n = list[rand.IntN(len(list))]
		if n == last { // one more random draw usually avoids it
			n = list[rand.IntN(len(list))]
		}
		return n, true
	}
	return 0, false
}

// isFull reports whether a write shard is known to have no quota for good. The caller holds
// the window's lock.
func (w *limitWindow) isFull(d *division, n int) bool {
	if !d.hasShare(n) {
		limit, spent := w.spent[n]
		return spent && d.Max <= limit
	}
	used, known := w.used[n]
	return d.share(n) == 0 || known && used >= d.share(n)
}

// remaining returns an upper bound of each write shard's remaining quota: other processes may have used
// some.
func (w *limitWindow) remaining(d *division) []int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	left := make([]int64, d.all)
	for n := range left {
		if !w.isFull(d, n) {
			left[n] = max(0, d.share(n)-w.used[n])
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

// knownUse returns a write shard's use, if it is cached.
func (w *limitWindow) knownUse(n int) (used int64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	used, ok = w.used[n]
	return used, ok
}

// donor returns a write shard with a share that is not known to be full, if there is one, and how much
// of its remaining quota a transfer takes: a fraction that leaves some for all other write shards.
func (w *limitWindow) donor(d *division) (n int, share int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	from := rand.IntN(d.first)
	for i := range d.first {
		if n = (from + i) % d.first; !w.isFull(d, n) {
			break
		}
	}
	return n, (d.share(n) - w.used[n]) / int64(d.all)
}
