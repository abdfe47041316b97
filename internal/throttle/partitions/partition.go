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

// lane is a partition's bucket for writes or reads, with the time for which it was at its limit.
type lane struct {
	bucket
	atLimit       bool
	firstThrottle int64  // when atLimit became true; nanoseconds
	lastThrottle  int64  // nanoseconds
	requests      sample // since firstThrottle
}

// observe records a request and reports whether it is throttled in a lane at its limit for splitAfter. A lane is at its
// limit from a throttle until the time calm has passed without another. If splitAfter is 0, observe does nothing.
func (n *lane) observe(hash uint64, throttled bool, now int64, splitAfter time.Duration) bool {
	if splitAfter == 0 {
		return false
	}
	n.atLimit = n.atLimit && now-n.lastThrottle <= int64(calm)
	if throttled {
		if !n.atLimit {
			n.atLimit, n.firstThrottle, n.requests = true, now, n.requests[:0]
		}
		n.lastThrottle = now
	}
	if n.atLimit {
		n.requests.add(hash)
	}
	return throttled && now-n.firstThrottle >= int64(splitAfter)
}

// partitionIndex returns the index of the partition that has a hash.
func (s *Space) partitionIndex(hash uint64) int {
	i, found := slices.BinarySearchFunc(s.partitions, hash, func(p partition, hash uint64) int { return cmp.Compare(p.low, hash) })
	if found {
		return i
	}
	return i - 1
}

// lastHash returns the highest hash of the partition at index i.
func (s *Space) lastHash(i int) uint64 {
	if i+1 == len(s.partitions) {
		return math.MaxUint64
	}
	return s.partitions[i+1].low - 1
}

// halve splits a partition into two equal ranges of hashes, unless it has a single hash.
func (s *Space) halve(i int, now int64) {
	if low, last := s.partitions[i].low, s.lastHash(i); last > low {
		s.split(i, low+(last-low)/2+1, now)
	}
}

// split splits a partition into the hashes below upperLow and the others. Each half gets half of the tokens saved or
// owed, and is not at its limit. If the space has MaxPartitions, split does nothing.
func (s *Space) split(i int, upperLow uint64, now int64) {
	if len(s.partitions) == MaxPartitions {
		return
	}
	lower := &s.partitions[i]
	upper := partition{
		low:    upperLow,
		writes: lower.writes.splitTokens(s.gate.writes, now),
		reads:  lower.reads.splitTokens(s.gate.reads, now),
	}
	s.partitions = slices.Insert(s.partitions, i+1, upper)
}

// splitByLoad splits the partition of a hash between two partition keys, so that a lane's latest requests are divided
// most evenly. It does nothing if these requests are for one partition key.
func (s *Space) splitByLoad(hash uint64, n *lane, now int64) {
	if point, ok := n.requests.splitPoint(); ok {
		s.split(s.partitionIndex(hash), point, now)
	}
}

// splitTokens moves half of a lane's tokens to a new lane, and returns the new lane. Neither is at its limit.
func (n *lane) splitTokens(r rate, now int64) lane {
	n.refill(r, now)
	half := n.tokens / 2
	*n = lane{bucket: bucket{n.tokens - half, n.refilled}}
	return lane{bucket: bucket{half, n.refilled}}
}
