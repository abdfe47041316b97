package shardmap

import (
	"sync"
	"time"
)

// view is a process's copy of the shard map.
type view struct {
	mu         sync.RWMutex
	polledAt   time.Time        // start of the newest poll, by the wall clock
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

// size returns the number of keys, including keys that were deleted within a day.
func (v *view) size() int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return len(v.keys)
}

// isWithin reports whether the view is at most maxAge old at now, or its newest poll began after now.
func (v *view) isWithin(now time.Time, maxAge time.Duration) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.keys != nil && now.Sub(v.polledAt) <= maxAge
}

// otherClock is how far a call's time may be before the newest poll, since the call may have waited. An earlier
// time must come from another clock.
const otherClock = 30 * time.Second

// fresh reports whether the view needs no renewal for a call at now.
func (v *view) fresh(now time.Time, maxAge time.Duration) bool {
	return v.isWithin(now, maxAge) && now.Sub(v.polled()) >= -otherClock
}

// polled returns when the view was last renewed.
func (v *view) polled() time.Time {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.polledAt
}

// setPolled sets the time up to which the view has all changes. A later time that a concurrent poll set
// stays, unless it is later by more than otherClock.
func (v *view) setPolled(at time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if ahead := v.polledAt.Sub(at); ahead < 0 || ahead > otherClock {
		v.polledAt = at
	}
}

// mergeEntry adds an entry unless the view has a newer one. An unreadable entry makes only its own key's lookups fail.
func (v *view) mergeEntry(entry Entry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	old, ok := v.keys[entry.Key]
	if v.keys != nil && (!ok || entry.replaces(old)) {
		v.keys[entry.Key] = withoutNotes(entry)
	}
}

// withoutNotes returns an entry without its notes, which would fill most of a view.
func withoutNotes(entry Entry) Entry {
	entry.Notes = nil
	return entry
}

// replace sets a key's entry to that of the key's item, whatever the versions, or removes the entry if the item does not
// exist.
func (v *view) replace(entry Entry, exists bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case !exists:
		delete(v.keys, entry.Key)
	case v.keys != nil:
		v.keys[entry.Key] = withoutNotes(entry)
	}
}

// changedSince returns the entries whose newest change was made at t or later.
func (v *view) changedSince(t time.Time) (list []Entry) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, e := range v.keys {
		if !e.deleted && e.fault == nil && len(e.History) > 0 && !e.Updated.Before(t) && !isPartitionCount(e.Key) {
			list = append(list, e)
		}
	}
	return list
}
