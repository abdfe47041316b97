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

// The counts by which keys grow. The first step is large where write shards are calculated, since events
// wait for the lead, and rows of an index for their next write.
var (
	randomSteps     = []int{4, 16, 64, 256, shard.MaxShards}
	calculatedSteps = []int{24, 64, 256, shard.MaxShards}
)

// Next returns the count that follows count for keys with a placement: Random is the one of counters
// and limits. It is the first step that is at least twice the count, and at most bound.
func Next(p kind.Placement, count, bound int) int {
	steps := calculatedSteps
	if p == kind.Random {
		steps = randomSteps
	}
	for _, step := range steps {
		if step >= 2*count {
			return min(step, bound)
		}
	}
	return bound
}

// Bound returns the largest useful count on a table with that many partitions: four write shards for
// each.
func Bound(partitions int) int {
	return min(shard.MaxShards, 4*max(partitions, 1))
}
