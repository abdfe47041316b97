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
	lookedBack time.Time        // start of the newest poll for late commits; only renewals use this field
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

// otherClock is how far a call's time may be before the newest poll, since the call may have waited. A time that is
// earlier by more must come from another clock.
const otherClock = 30 * time.Second

// fresh reports whether a call at now may use the view without a renewal: the view is at most maxAge old, and the call's
// time comes from the same clock as the newest poll's.
func (v *view) fresh(now time.Time, maxAge time.Duration) bool {
	return v.isWithin(now, maxAge) && now.Sub(v.polled()) >= -otherClock
}

// polled returns when the view was last renewed.
func (v *view) polled() time.Time {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.polledAt
}

// setPolled sets the time up to which the view has all changes. It keeps a later time, which a concurrent poll has set,
// unless that time must come from another clock.
func (v *view) setPolled(at time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if ahead := v.polledAt.Sub(at); ahead < 0 || ahead > otherClock {
		v.polledAt = at
	}
}

// mergeEntry adds an entry unless the view has a newer one. If the entry is unreadable, only lookups of its key fail.
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

// changedSince returns the entries whose newest change was made at from or later. It leaves out deleted and reset keys.
func (v *view) changedSince(from time.Time) (list []Entry) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, e := range v.keys {
		if !e.deleted && e.fault == nil && len(e.History) > 0 && !e.Updated.Before(from) && !isPartitionCount(e.Key) {
			list = append(list, e)
		}
	}
	return list
}
