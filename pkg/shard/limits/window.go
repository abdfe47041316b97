package limits

import (
	"math/rand/v2"
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

// choose returns a write shard that may have room: one of the newest count, if there is one.
// Those with a part come last where there are others, since the others take their room over
// from them, which their partitions have to bear. Of those others, three of four hits go to one
// that is known to have room; the fourth brings some to another.
func (w *limitWindow) choose(d *division, last int) (n int, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var room, bare, parted, older []int
	for n := range d.all {
		switch {
		case w.isFull(d, n):
		case n >= d.newest:
			older = append(older, n)
		case n < d.first:
			parted = append(parted, n)
		case w.used[n] < 0 && n != last:
			room = append(room, n)
		default:
			bare = append(bare, n)
		}
	}
	if rand.IntN(4) == 0 {
		room, bare = bare, room
	}
	for _, list := range [][]int{room, bare, parted, older} {
		if len(list) == 0 {
			continue
		}
		n = list[rand.IntN(len(list))]
		if n == last { // one more draw is spread enough
			n = list[rand.IntN(len(list))]
		}
		return n, true
	}
	return 0, false
}

// isFull tells whether a write shard is known to have no room for good. The caller
// holds the window's lock.
func (w *limitWindow) isFull(d *division, n int) bool {
	if n >= d.first {
		under, spent := w.spent[n]
		return spent && d.Max <= under
	}
	used, known := w.used[n]
	return d.part(n) == 0 || known && used >= d.part(n)
}

// full tells whether the first so many write shards are known to be full.
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

// known is what is known of a write shard's use.
func (w *limitWindow) known(n int) (used int64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	used, ok = w.used[n]
	return used, ok
}

// donor returns a write shard with a part that is not known to be full, if there is
// one, and how much of its room, as far as known, another may take: so much that all
// can take some.
func (w *limitWindow) donor(d *division) (n int, share int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	from := rand.IntN(d.first)
	for i := range d.first {
		if n = (from + i) % d.first; !w.isFull(d, n) {
			break
		}
	}
	return n, (d.part(n) - w.used[n]) / int64(d.all)
}
