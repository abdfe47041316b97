package ddbstream

import (
	"cmp"
	"slices"
	"strings"
)

// SketchLimits bound a sketch.
type SketchLimits struct {
	Entries int // keys at one time; at least 1
	Bytes   int // the keys' bytes and [SketchEntryBytes] for each; one key always fits
}

// SketchEntryBytes is an entry's overhead in [SketchLimits], in bytes.
const SketchEntryBytes = 56

// SketchEntry is a key with the bounds of its weight.
type SketchEntry struct {
	Key   string
	Count uint64 // upper bound of the key's weight
	Err   uint64 // upper bound of the other keys' weight in Count

	// Peak is the largest weight in one second, and PeakSecond the first such second. Seconds
	// are expected in ascending order. Weight for an earlier second counts only if that is the
	// peak second. So Peak is a lower bound; with seconds in order and an Err of 0 it is exact.
	Peak       uint64
	PeakSecond int64

	Second       int64  // the newest second
	SecondWeight uint64 // the weight in that second

	// Adds is the number of calls of Add whose weights make up Low. So Low/Adds is their mean weight. Adds is 0 if the
	// number is unknown.
	Adds uint64
}

// Low returns the certified lower bound of the key's weight.
func (e *SketchEntry) Low() uint64 { return e.Count - e.Err }

// Sketch adds up weights by key, in memory that is bounded in bytes as well as in entries. It is the Space-Saving
// algorithm with weights: see Metwally, Agrawal and El Abbadi, "Efficient computation of frequent and top-k elements in
// data streams", 2005. A key's true weight is never below Low and never above Count. Both are equal until the first key
// is evicted. A Sketch is deterministic, and not safe for concurrent use.
type Sketch struct {
	limits SketchLimits
	total  uint64
	floor  uint64
	entries
}

// NewSketch returns an empty sketch. It holds at least one entry, whatever the limits.
func NewSketch(limits SketchLimits) *Sketch {
	limits.Entries = max(limits.Entries, 1)
	return &Sketch{limits: limits, entries: entries{index: make(map[string]int)}}
}

// Total returns the sum of all weights added.
func (s *Sketch) Total() uint64 { return s.total }

// Floor returns the largest weight that a key without an entry can have. It is 0 until the first eviction. With keys of
// at most b bytes it is at most Total/(min(Entries, Bytes/(b+SketchEntryBytes)) - 1).
func (s *Sketch) Floor() uint64 { return s.floor }

// Bytes returns the size of the entries as [SketchLimits] counts it.
func (s *Sketch) Bytes() int { return s.bytes }

// Add adds weight to a key in a second, such as a Unix second. A weight of 0 does nothing. Add copies the key, and allocates
// memory only for a key without an entry.
func (s *Sketch) Add(key []byte, weight uint64, second int64) {
	if weight == 0 {
		return
	}
	if id, ok := s.index[string(key)]; ok { // this conversion does not allocate
		s.addToEntry(id, weight, second)
		return
	}
	s.insert(string(key), weight, second)
}

// addToEntry adds weight to the key of a slot.
func (s *Sketch) addToEntry(id int, weight uint64, second int64) {
	s.total += weight
	e := &s.slots[id]
	e.Count += weight
	if e.Adds > 0 {
		e.Adds++
	}
	e.addSecond(weight, second)
	s.heap[e.at].count = e.Count
	s.siftDown(e.at)
}

// insert adds an entry for a new key.
func (s *Sketch) insert(key string, weight uint64, second int64) {
	s.total += weight
	s.evict(1, entryBytes(key))
	e := SketchEntry{Key: key, Count: s.floor + weight, Err: s.floor, Adds: 1}
	e.Second, e.SecondWeight, e.PeakSecond, e.Peak = second, weight, second, weight
	s.push(e)
}

// addSecond adds weight to the newest second or to the peak. It ignores weight of any other earlier second.
func (e *SketchEntry) addSecond(weight uint64, second int64) {
	switch {
	case second > e.Second:
		e.Second, e.SecondWeight = second, weight
	case second == e.Second:
		e.SecondWeight += weight
	case second == e.PeakSecond:
		e.Peak += weight
		return
	default:
		return
	}
	if second == e.PeakSecond || e.SecondWeight > e.Peak {
		e.Peak, e.PeakSecond = e.SecondWeight, second
	}
}

// entryBytes returns the size of an entry as [SketchLimits] counts it.
func entryBytes(key string) int { return len(key) + SketchEntryBytes }

// evict removes the lightest entries until this number of new entries, with this number of bytes, fits into the limits. The
// last removed entry sets the floor. No count is below an earlier floor, so the floor never falls.
func (s *Sketch) evict(newEntries, newBytes int) {
	fits := func() bool { return len(s.heap)+newEntries <= s.limits.Entries && s.bytes+newBytes <= s.limits.Bytes }
	for len(s.heap) > 0 && !fits() {
		s.floor = s.heap[0].count
		s.pop()
	}
}

// Entries returns all entries, in descending order of their lower bounds, then in ascending order of keys.
func (s *Sketch) Entries() []SketchEntry {
	sorted := make([]SketchEntry, len(s.heap))
	for i, n := range s.heap {
		sorted[i] = s.slots[n.slot].SketchEntry
	}
	slices.SortFunc(sorted, func(a, b SketchEntry) int {
		return cmp.Or(cmp.Compare(b.Low(), a.Low()), strings.Compare(a.Key, b.Key))
	})
	return sorted
}
