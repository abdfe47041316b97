package partitions

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// partition is a range of hashes, from low up to the next partition's.
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

// calm is how long a partition must refuse nothing for its limit to be met no more.
const calm = 5 * time.Second

// lane is the bucket of a partition's writes or reads, and since when it has been
// at its limit.
type lane struct {
	bucket
	hot   bool
	since int64  // nanoseconds; the first refusal
	last  int64  // the latest
	key   uint64 // the hash of the key that was refused first
	mixed bool   // other keys have come since
}

// met notes a request. A lane is at its limit from a refusal until it is calm. It
// tells whether that has lasted for a time: not with a time of 0, nor while there
// was but one key, which no split would help.
func (n *lane) met(key uint64, refused bool, now int64, split time.Duration) bool {
	if split == 0 {
		return false
	}
	n.hot = n.hot && now-n.last <= int64(calm)
	if refused {
		if !n.hot {
			n.hot, n.since, n.key, n.mixed = true, now, key, false
		}
		n.last = now
	}
	n.mixed = n.mixed || n.hot && n.key != key
	return refused && n.mixed && now-n.since >= int64(split)
}

// at is the index of the partition that a hash is on.
func (s *Space) at(hash uint64) int {
	i, found := slices.BinarySearchFunc(s.partitions, hash, func(p partition, h uint64) int { return cmp.Compare(p.low, h) })
	if found {
		return i
	}
	return i - 1
}

// split cuts the partition that a hash is on into two equal ranges. Each gets half
// of what was saved up, or owed, and is not at its limit yet. There are no more than
// MaxPartitions, and no range is empty.
func (s *Space) split(hash uint64, now int64) {
	i := s.at(hash)
	lower, last := &s.partitions[i], uint64(math.MaxUint64)
	if i+1 < len(s.partitions) {
		last = s.partitions[i+1].low - 1
	}
	if last == lower.low || len(s.partitions) == MaxPartitions {
		return
	}
	upper := partition{
		low:    lower.low + (last-lower.low)/2 + 1,
		writes: lower.writes.halve(s.gate.writes, now),
		reads:  lower.reads.halve(s.gate.reads, now),
	}
	s.partitions = slices.Insert(s.partitions, i+1, upper)
}

// halve takes half of a lane's tokens for another.
func (n *lane) halve(r rate, now int64) lane {
	n.refill(r, now)
	half := n.tokens / 2
	*n = lane{bucket: bucket{n.tokens - half, n.at}}
	return lane{bucket: bucket{half, n.at}}
}
