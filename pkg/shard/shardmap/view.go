package shardmap

import (
	"sync"
	"time"
)

// view is what is known of the shard map.
type view struct {
	mu         sync.RWMutex
	at         time.Time        // start of the newest poll, by the wall clock
	keys       map[string]Entry // by base key; nil before the first load
	maxKeys    int
	partial    bool // keys is full: a key's absence means nothing
	partitions int  // of the items table; 0 without a note
}

func newView(maxKeys int) *view { return &view{keys: map[string]Entry{}, maxKeys: maxKeys} }

// find returns a key's entry, whether the view has it, and whether its absence means
// nothing.
func (v *view) find(key string) (entry Entry, ok, partial bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	entry, ok = v.keys[key]
	return entry, ok, v.partial
}

// younger tells whether the view is at most so old at now. For a request that began
// before the poll's it is.
func (v *view) younger(now time.Time, age time.Duration) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.keys != nil && now.Sub(v.at) <= age
}

// otherClock is how far a time may lie before the newest poll: a request that waits has that of
// its begin. One from farther back is another clock's.
const otherClock = 30 * time.Second

// fresh tells whether the view need not be renewed at now.
func (v *view) fresh(now time.Time, age time.Duration) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	passed := now.Sub(v.at)
	return v.keys != nil && passed <= age && passed >= -otherClock
}

// polled returns when the view was renewed last.
func (v *view) polled() time.Time {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.at
}

// reached notes that the view has all that there was at a time. Of polls that cross, the
// newest counts.
func (v *view) reached(at time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if back := v.at.Sub(at); back < 0 || back > otherClock {
		v.at = at
	}
}

// learn takes over an entry unless the view has a newer one. One that could not be
// read makes its key's lookups fail, and no other's.
func (v *view) learn(entry Entry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if held, ok := v.keys[entry.Key]; !ok {
		v.add(entry)
	} else if entry.newer(held) {
		v.keys[entry.Key] = bare(entry)
	}
}

// add takes in an entry of a key that the view has not, if there is room. The caller
// holds mu.
func (v *view) add(entry Entry) {
	switch {
	case v.keys == nil:
	case len(v.keys) >= v.maxKeys:
		v.partial = true
	default:
		v.keys[entry.Key] = bare(entry)
	}
}

// bare is an entry without what would be most of what a view takes.
func bare(entry Entry) Entry {
	entry.Notes = nil
	return entry
}

// replace puts what a key's item says now in the place of what the view has of it,
// whatever the versions; a key that has no item goes.
func (v *view) replace(entry Entry, there bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, held := v.keys[entry.Key]; there && held {
		v.keys[entry.Key] = bare(entry)
	} else if there {
		v.add(entry)
	} else {
		delete(v.keys, entry.Key)
	}
}

// note takes over how many partitions the items table has.
func (v *view) note(partitions int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.partitions = partitions
}

func (v *view) noted() int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.partitions < 1 {
		return FewPartitions
	}
	return v.partitions
}
