package ddb

import (
	"hash/crc32"
	"sync"
	"time"
)

// view is what is known of the shard map.
type view struct {
	mu      sync.RWMutex
	at      time.Time        // start of the newest poll, by the wall clock
	seq     int64            // last change of the log that the view holds
	keys    map[string]Entry // by base key; nil before the first load
	maxKeys int
	partial bool // keys is full: a key's absence means nothing
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

// fresh tells whether the view need not be renewed at now. A poll that seems to be of
// much later than now is another clock's.
func (v *view) fresh(now time.Time) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.keys != nil && now.Sub(v.at).Abs() <= ViewAge
}

// last returns the number of the last change that the view holds.
func (v *view) last() int64 {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.seq
}

// reached notes that the log ended at the view's place, at now or later.
func (v *view) reached(now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.at = now
}

// step takes over change seq, the next one; one without a key says nothing.
func (v *view) step(seq int64, entry Entry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if entry.Key != "" {
		v.apply(entry)
	}
	v.seq = seq
}

// own takes over a change that this process made, unless the view has gone past it:
// then its key may be deleted by now.
func (v *view) own(seq int64, entry Entry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.keys != nil && v.seq < seq {
		v.apply(entry)
	}
}

// apply takes over an entry unless the view has a newer one. One that could not be
// read makes its key's lookups fail, and no other's; where there are two of a version,
// the one that could counts. The caller holds mu.
func (v *view) apply(entry Entry) {
	old, held := v.keys[entry.Key]
	switch {
	case held && (old.Version > entry.Version || old.Version == entry.Version && old.fault == nil):
	case !held && len(v.keys) >= v.maxKeys:
		v.partial = true
	default:
		v.keys[entry.Key] = entry
	}
}

// replace puts what a key's item says now in the place of what the view has of it,
// whatever the versions; an entry that is not in the map goes.
func (v *view) replace(entry Entry, there bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if delete(v.keys, entry.Key); there {
		v.apply(entry)
	}
}

// hinted lists the keys in the view whose hints are among these.
func (v *view) hinted(hints map[int64]bool) (keys []string) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for key := range v.keys {
		if hints[hint(key)] {
			keys = append(keys, key)
		}
	}
	return keys
}

// all lists the entries that could be read.
func (v *view) all() (entries []Entry) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, e := range v.keys {
		if e.fault == nil {
			entries = append(entries, e)
		}
	}
	return entries
}

// hint is 16 bits of a key's name, which say which keys of a view may have been
// deleted, and don't tell the name. It is stored.
func hint(key string) int64 { return int64(crc32.ChecksumIEEE([]byte(key)) & 0xffff) }
