package shardmap

import (
	"sync"
	"time"
)

// view is a process's copy of the shard map.
type view struct {
	mu         sync.RWMutex
	at         time.Time        // start of the newest poll, by the wall clock
	keys       map[string]Entry // by base key; nil before the first load
	lookedBack time.Time        // start of the newest poll for late commits; only renewals use it
}

// findEntry returns a key's entry. A key that is not in the map has one without a history.
func (v *view) findEntry(key string) Entry {
	v.mu.RLock()
	defer v.mu.RUnlock()
	entry := v.keys[key]
	entry.Key = key
	return entry
}

// size returns the number of keys, those included that were deleted within a day.
func (v *view) size() int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return len(v.keys)
}

// younger reports whether the view's age at now is at most age, or the newest poll began after now.
func (v *view) younger(now time.Time, age time.Duration) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.keys != nil && now.Sub(v.at) <= age
}

// otherClock is how far now may be before the newest poll, since a call may have waited. An earlier
// time comes from another clock.
const otherClock = 30 * time.Second

// fresh reports whether the view needs no renewal at now.
func (v *view) fresh(now time.Time, age time.Duration) bool {
	return v.younger(now, age) && now.Sub(v.polled()) >= -otherClock
}

// polled returns when the view was last renewed.
func (v *view) polled() time.Time {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.at
}

// setPolled sets the time up to which the view has all changes. A later time that a concurrent poll set
// stays, unless it is later by more than otherClock.
func (v *view) setPolled(at time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if back := v.at.Sub(at); back < 0 || back > otherClock {
		v.at = at
	}
}

// mergeEntry adds an entry unless the view has a newer one. An unreadable entry makes only its own
// key's lookups fail.
func (v *view) mergeEntry(entry Entry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if held, ok := v.keys[entry.Key]; v.keys != nil && (!ok || entry.newer(held)) {
		v.keys[entry.Key] = bare(entry)
	}
}

// bare returns an entry without its notes, which would fill most of a view.
func bare(entry Entry) Entry {
	entry.Notes = nil
	return entry
}

// replace sets a key's entry to that of its item, whatever the versions. It removes a key without an
// item; there reports whether it has one.
func (v *view) replace(entry Entry, there bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case !there:
		delete(v.keys, entry.Key)
	case v.keys != nil:
		v.keys[entry.Key] = bare(entry)
	}
}

// since returns the entries whose newest change was made at t or later.
func (v *view) since(t time.Time) (list []Entry) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, e := range v.keys {
		if !e.deleted && e.fault == nil && len(e.History) > 0 && !e.Updated.Before(t) && !isPartitionCount(e.Key) {
			list = append(list, e)
		}
	}
	return list
}
