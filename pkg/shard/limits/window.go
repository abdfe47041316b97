package limits

import (
	"sync"
	"sync/atomic"
	"time"
)

// limitWindow is what a process knows of one window of a limit's key. It only saves
// calls: with nothing in it all comes out the same.
type limitWindow struct {
	mu    sync.Mutex
	used  map[int]int64 // by write shard, as last seen; of those with a part, the highest
	spent map[int]int64 // write shards without a part that have no room for good, under a Max of so many
	read  time.Time     // when all were read last
	all   int64         // what all had used then, less the hits of this process by then
	own   atomic.Int64  // hits of this process
}

func newLimitWindow() *limitWindow {
	return &limitWindow{used: map[int]int64{}, spent: map[int]int64{}}
}

// saw takes in what a write shard has used. Of one with a part that only rises, so
// that the highest is the newest.
func (w *limitWindow) saw(n int, used int64, parted bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if old, known := w.used[n]; known && parted {
		used = max(used, old)
	}
	w.used[n] = used
}

// total takes in that the first so many write shards have been read, when this process had
// had so many hits.
func (w *limitWindow) total(shards int, own int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = -own
	for n := range shards {
		w.all += w.used[n]
	}
}

// sum is what all write shards had used when they were read last, and this process since. What
// is known of single ones from writes is not in it: one that gave room to others would stand for
// hits that nobody made.
func (w *limitWindow) sum() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(w.all+w.own.Load(), 0)
}

// forget makes what is known of a write shard unknown: the next hit looks.
func (w *limitWindow) forget(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.used, n)
}

// spend notes that a write shard without a part has no room any more. That is final
// only when it was found after all those with a part were known to be full, since
// none can give it room then.
func (w *limitWindow) spend(n int, limit int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spent[n] = max(w.spent[n], limit)
}

// stale tells, once for all who ask at a time, that the last reading is too old.
func (w *limitWindow) stale(now time.Time, every time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if age := now.Sub(w.read); age >= 0 && age < every {
		return false
	}
	w.read = now
	return true
}
