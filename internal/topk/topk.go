// Package topk finds the heaviest keys of a stream in bounded memory, with
// certified bounds, by the Space-Saving algorithm (Metwally, Agrawal and El
// Abbadi, "Efficient computation of frequent and top-k elements in data
// streams", 2005), here with weights and a bound in bytes as well as in entries:
//
//	sketch := topk.New(topk.Limits{Entries: 1000, Bytes: 100_000})
//	sketch.Add("page/home", 3, second)
//	for _, e := range sketch.Top(10) {
//		fmt.Println(e.Key, "at least", e.Low(), "at most", e.Count)
//	}
//
// Nothing is estimated: a key's true weight is never below Low and never above
// Count. While no key had to make room for another, the two are equal.
package topk

import (
	"cmp"
	"slices"
	"strings"
)

// Limits bound a sketch.
type Limits struct {
	Entries int // keys at one time; at least 1
	Bytes   int // keys' bytes, with [EntryBytes] more for each; room for at least one key
}

// EntryBytes is what an entry counts for beside its key in [Limits].
const EntryBytes = 56

// Entry is what a sketch knows about a key.
type Entry struct {
	Key   string
	Count uint64 // the key's weight is at most this
	Err   uint64 // how much of Count may be other keys' weight

	// Peak is the largest weight seen in one second, and PeakSecond the first
	// such second. Seconds are expected in ascending order. Weight for a second
	// that is over counts only if that second is the peak, so Peak is a lower
	// bound, and exact without an error and with seconds in order.
	Peak       uint64
	PeakSecond int64

	Second       int64  // the newest second seen
	SecondWeight uint64 // the weight seen in it

	// Adds is how many calls of Add the certified weight, Low, came by, so that
	// Low/Adds is the exact mean of those; 0 if that is not known.
	Adds uint64
}

// Low is the certified lower bound of the key's weight.
func (e *Entry) Low() uint64 { return e.Count - e.Err }

// Sketch counts. It is not safe for concurrent use. It has no randomness: the
// same calls on the same sketch have the same result.
type Sketch struct {
	limits Limits
	total  uint64
	floor  uint64
	entries
}

// New returns an empty sketch. Whatever the limits, it has room for one entry.
func New(limits Limits) *Sketch {
	limits.Entries = max(limits.Entries, 1)
	return &Sketch{limits: limits, entries: entries{index: make(map[string]int)}}
}

// Total is the sum of all weights added.
func (s *Sketch) Total() uint64 { return s.total }

// Floor is the most that a key without an entry can weigh; 0 until a key had to
// make room. It is at most Total divided by the number of entries that the sketch
// had room for when it was fullest with the largest keys: with keys of b bytes
// min(Entries, Bytes/(b+EntryBytes)) less 1. So a key that weighs more has an
// entry, whatever came in whichever order.
func (s *Sketch) Floor() uint64 { return s.floor }

// Len is the number of entries.
func (s *Sketch) Len() int { return len(s.heap) }

// Bytes is what the entries count for in [Limits].
func (s *Sketch) Bytes() int { return s.bytes }

// Add counts weight for key in a second (Unix, say). The sketch keeps a copy of
// a key that it has no entry for. A weight of 0 does nothing.
func (s *Sketch) Add(key string, weight uint64, second int64) {
	if weight == 0 {
		return
	}
	if id, ok := s.index[key]; ok {
		s.raise(id, weight, second)
		return
	}
	s.insert(strings.Clone(key), weight, second)
}

// AddBytes is Add for a key in a buffer, which may be used again at once. It
// allocates only for a key that the sketch has no entry for.
func (s *Sketch) AddBytes(key []byte, weight uint64, second int64) {
	if weight == 0 {
		return
	}
	if id, ok := s.index[string(key)]; ok { // the compiler makes no string of it
		s.raise(id, weight, second)
		return
	}
	s.insert(string(key), weight, second)
}

func (s *Sketch) raise(id int, weight uint64, second int64) {
	s.total += weight
	e := &s.slots[id]
	e.Count += weight
	if e.Adds > 0 {
		e.Adds++
	}
	e.tick(weight, second)
	s.heap[e.at].count = e.Count
	s.down(e.at)
}

// insert takes a key that has no entry, and keeps it.
func (s *Sketch) insert(key string, weight uint64, second int64) {
	s.total += weight
	s.makeRoom(1, cost(key))
	e := Entry{Key: key, Count: s.floor + weight, Err: s.floor, Adds: 1}
	e.Second, e.SecondWeight, e.PeakSecond, e.Peak = second, weight, second, weight
	s.push(e)
}

// tick keeps the peak second.
func (e *Entry) tick(weight uint64, second int64) {
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
	switch {
	case second == e.PeakSecond, e.SecondWeight > e.Peak:
		e.Peak, e.PeakSecond = e.SecondWeight, second
	}
}

func cost(key string) int { return len(key) + EntryBytes }

// makeRoom takes out the lightest entries until this many more of this cost in
// all have room. An entry taken out has the smallest count, and no count is below
// an earlier floor, so the last one taken out sets the floor.
func (s *Sketch) makeRoom(entries, bytes int) {
	for len(s.heap) > 0 && (len(s.heap)+entries > s.limits.Entries || s.bytes+bytes > s.limits.Bytes) {
		s.floor = s.heap[0].count
		s.pop()
	}
}

// Top returns the n entries with the highest lower bounds (all, if n is greater),
// highest first, then by key.
func (s *Sketch) Top(n int) []Entry {
	top := make([]Entry, len(s.heap))
	for i, n := range s.heap {
		top[i] = s.slots[n.slot].Entry
	}
	slices.SortFunc(top, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(b.Low(), a.Low()), strings.Compare(a.Key, b.Key))
	})
	return top[:min(max(n, 0), len(top))]
}
