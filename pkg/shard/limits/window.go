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
	used  map[int]int64 // by write shard, as last seen; the highest value if the write shard has a share
	spent map[int]int64 // write shards without a share that have no quota for good, by the Max of that time
	read  time.Time     // the last reading of all write shards
	all   int64         // total use at that reading, less this process's hits until then
	own   atomic.Int64  // hits of this process

	highest int64 // highest Max of this process's calls
}

func newLimitWindow() *limitWindow {
	return &limitWindow{used: map[int]int64{}, spent: map[int]int64{}}
}

// cacheUsed stores a write shard's use. The use of a write shard with a share only rises, so its
// highest value is the newest.
func (w *limitWindow) cacheUsed(n int, used int64, shared bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if old, known := w.used[n]; known && shared {
		used = max(used, old)
	}
	w.used[n] = used
}

// total sums the first shards write shards, which have just been read; own is the number of
// this process's hits when the reading began.
func (w *limitWindow) total(shards int, own int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = -own
	for n := range shards {
		w.all += w.used[n]
	}
}

// sum returns the total use at the last reading, and this process's hits since; at most the highest
// Max of this process, since a hit or a transfer that was in flight at the reading may count twice.
// It ignores what writes returned for single write shards: a donor's use includes transferred
// quota, which is no hit.
func (w *limitWindow) sum(limit int64) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.highest = max(w.highest, limit)
	return min(max(w.all+w.own.Load(), 0), w.highest)
}

// forget deletes what is cached of a write shard: the next hit reads it.
func (w *limitWindow) forget(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.used, n)
}

// spend notes that a write shard without a share has no quota left. The caller must have
// known before that all write shards with a share were full, since they could transfer quota
// to it.
func (w *limitWindow) spend(n int, limit int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spent[n] = max(w.spent[n], limit)
}

// stale reports whether the last reading is too old; of concurrent callers, only to one.
func (w *limitWindow) stale(now time.Time, every time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if age := now.Sub(w.read); age >= 0 && age < every {
		return false
	}
	w.read = now
	return true
}

// choose returns a write shard that may have quota, one of the newest count if possible. Write
// shards with a share come last, since the others transfer quota from them, and that loads
// their partitions. Of the others, three of four hits go to a write shard with known quota, and
// the fourth transfers some to another.
func (w *limitWindow) choose(d *division, last int) (n int, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var open, empty, shared, older []int
	for n := range d.all {
		switch {
		case w.isFull(d, n):
		case n >= d.newest:
			older = append(older, n)
		case n < d.first:
			shared = append(shared, n)
		case w.used[n] < 0 && n != last:
			open = append(open, n)
		default:
			empty = append(empty, n)
		}
	}
	if rand.IntN(4) == 0 {
		open, empty = empty, open
	}
	for _, list := range [][]int{open, empty, shared, older} {
		if len(list) == 0 {
			continue
		}
		n = list[rand.IntN(len(list))]
		if n == last { // one more random draw spreads hits enough
			n = list[rand.IntN(len(list))]
		}
		return n, true
	}
	return 0, false
}

// isFull reports whether a write shard is known to have no quota for good. The caller holds
// the window's lock.
func (w *limitWindow) isFull(d *division, n int) bool {
	if n >= d.first {
		under, spent := w.spent[n]
		return spent && d.Max <= under
	}
	used, known := w.used[n]
	return d.share(n) == 0 || known && used >= d.share(n)
}

// remaining returns the quota that each write shard has left, at most: other processes may have used some.
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

// known returns a write shard's use, if it is cached.
func (w *limitWindow) known(n int) (used int64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	used, ok = w.used[n]
	return used, ok
}

// donor returns a write shard with a share that is not known to be full, if there is one, and
// how much of its quota another may take. The amount leaves some for all others.
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
