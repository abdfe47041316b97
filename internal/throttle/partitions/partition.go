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
	hot   bool
	since int64  // nanoseconds; the first throttle
	last  int64  // the latest throttle
	seen  sample // requests since the first throttle
}

// observe records a request. A lane is at its limit from a throttle until calm has passed
// without one. observe reports whether the partition must split if its requests divide: it was at its limit for split.
// A split of 0 never splits.
func (n *lane) observe(hash uint64, throttled bool, now int64, split time.Duration) bool {
	if split == 0 {
		return false
	}
	n.hot = n.hot && now-n.last <= int64(calm)
	if throttled {
		if !n.hot {
			n.hot, n.since, n.seen = true, now, n.seen[:0]
		}
		n.last = now
	}
	if n.hot {
		n.seen.add(hash)
	}
	return throttled && now-n.since >= int64(split)
}

// index returns the index of the partition of a hash.
func (s *Space) index(hash uint64) int {
	i, found := slices.BinarySearchFunc(s.partitions, hash, func(p partition, hash uint64) int { return cmp.Compare(p.low, hash) })
	if found {
		return i
	}
	return i - 1
}

// lastHash returns the highest hash of a partition.
func (s *Space) lastHash(i int) uint64 {
	if i+1 == len(s.partitions) {
		return math.MaxUint64
	}
	return s.partitions[i+1].low - 1
}

// halve splits a partition into two equal ranges of hashes. It returns false for a single hash.
func (s *Space) halve(i int, now int64) bool {
	low, last := s.partitions[i].low, s.lastHash(i)
	return last > low && s.split(i, low+(last-low)/2+1, now)
}

// split splits a partition at a hash. Each half gets half of the tokens saved or owed, and is not at its limit. It returns false, and does nothing, if the space has MaxPartitions.
func (s *Space) split(i int, at uint64, now int64) bool {
	if len(s.partitions) == MaxPartitions {
		return false
	}
	lower := &s.partitions[i]
	upper := partition{
		low:    at,
		writes: lower.writes.halve(s.gate.writes, now),
		reads:  lower.reads.halve(s.gate.reads, now),
	}
	s.partitions = slices.Insert(s.partitions, i+1, upper)
	return true
}

// splitByLoad splits the partition of a hash between the partition keys that its lane's latest requests were for.
func (s *Space) splitByLoad(hash uint64, n *lane, now int64) {
	if at, ok := n.seen.splitPoint(); ok {
		s.split(s.index(hash), at, now)
	}
}

// halve moves half of a lane's tokens to a new lane.
func (n *lane) halve(r rate, now int64) lane {
	n.refill(r, now)
	half := n.tokens / 2
	*n = lane{bucket: bucket{n.tokens - half, n.at}}
	return lane{bucket: bucket{half, n.at}}
}
