// Package growth decides when a process asks for more write shards of a key, by the process's own recent
// attempts. It has no I/O, and its caller passes the time.
//
//	keys := growth.NewKeys(growth.MaxKeys)
//	switch keys.Observe(attempt, growth.Bound(partitions), now) {
//	case growth.Refresh: // read the key's entry and use it: another process may have raised its count
//	case growth.Ask: // read the entry, and raise its count if nobody else has
//	case growth.Bounded: // more write shards would not help
//	}
package growth

import (
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Steps by which a count is raised. The first step is large where write shards are calculated, since
// events wait for the lead, and rows of an index for their next write.
const (
	step            = 4  // times the count; also the first step of random write shards: 1 to 4
	firstCalculated = 24 // the count that follows 1 if write shards are calculated
)

// Next returns the count that follows count for keys with a placement: Random is the one of counters
// and limits. It is at most bound.
func Next(p kind.Placement, count, bound int) int {
	if p != kind.Random && count == 1 {
		return min(firstCalculated, bound)
	}
	return min(step*count, bound)
}

// Bound returns the largest useful count on a table with that many partitions: four write shards for
// each.
func Bound(partitions int) int {
	return min(shard.MaxShards, 4*max(partitions, 1))
}
