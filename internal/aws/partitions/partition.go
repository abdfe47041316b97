package partitions

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// partition is a range of hashes, from low up to the next partition.
type partition struct {
	low    uint64
	writes lane
	reads  lane
}

func (p *partition) lane(write bool) *lane {
	if write {
		return &p.writes
	}
	return &p.reads
}

// calm is the time without throttles after which a partition is no longer at its limit.
const calm = 5 * time.Second

// lane is a partition's bucket for writes or reads, with the time for which it was at its
// limit.
type lane struct {
	bucket
	used  meter
	hot   bool
	since int64  // nanoseconds; the first throttle
	last  int64  // the latest throttle
	key   uint64 // hash of the key that was throttled first
	mixed bool   // other keys were requested since
}

// observe records a request. A lane is at its limit from a throttle until calm has passed
// without one. observe reports whether the partition must split: it was at its limit for split,
// with requests for several keys. A split of 0 never splits.
func (n *lane) observe(key uint64, throttled bool, now int64, split time.Duration) bool {
	if split == 0 {
		return false
	}
	n.hot = n.hot && now-n.last <= int64(calm)
	if throttled {
		if !n.hot {
			n.hot, n.since, n.key, n.mixed = true, now, key, false
		}
		n.last = now
	}
	n.mixed = n.mixed || n.hot && n.key != key
	return throttled && n.mixed && now-n.since >= int64(split)
}

// index returns the index of the partition of a hash.
func (s *Space) index(hash uint64) int {
	i, found := slices.BinarySearchFunc(s.partitions, hash, func(p partition, h uint64) int { return cmp.Compare(p.low, h) })
	if found {
		return i
	}
	return i - 1
}

// last returns the highest hash of a partition.
func (s *Space) last(i int) uint64 {
	if i+1 < len(s.partitions) {
		return s.partitions[i+1].low - 1
	}
	return math.MaxUint64
}

// split cuts the partition of a hash into two equal ranges. Each gets half of the tokens saved
// or owed, and is not at its limit. It does nothing if the space has MaxPartitions or the range
// is a single hash.
func (s *Space) split(hash uint64, now int64) {
	i := s.index(hash)
	lower, last := &s.partitions[i], s.last(i)
	if last == lower.low || len(s.partitions) == MaxPartitions {
		return
	}
	upper := partition{
		low:    lower.low + (last-lower.low)/2 + 1,
		writes: lower.writes.halve(s.gate.writes, now),
		reads:  lower.reads.halve(s.gate.reads, now),
	}
	s.partitions = slices.Insert(s.partitions, i+1, upper)
	s.gate.noteSplit(Split{s.Resource, time.Unix(0, now).UTC(), len(s.partitions)})
}

// halve moves half of a lane's tokens to a new lane.
func (n *lane) halve(r rate, now int64) lane {
	n.refill(r, now)
	half := n.tokens / 2
	*n = lane{bucket: bucket{n.tokens - half, n.at}}
	return lane{bucket: bucket{half, n.at}}
}
