// Package growth decides, by a process's own recent attempts, when the process asks for more write shards
// of a key. It does no I/O, and its caller passes the time.
//
//	keys := growth.NewKeys(growth.MaxKeys)
//	switch keys.Observe(attempt, growth.Bound(partitions), now) {
//	case growth.Refresh: // read the key's entry and use it: another process may have raised its count
//	case growth.Ask: // read the entry, and raise its count if nobody else has
//	case growth.Bounded: // more write shards would not help
//	}
package growth

import (
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// The counts to which keys grow. A larger count relieves keys with slowSteps only after the lead or, in an index, with the
// next write of each row. So the first of the slowSteps is larger.
// Each step adds two write shards or more: evidence.enoughCalls wants throttles on two of them.
var (
	promptSteps = []int{4, 16, 64, 256, shard.MaxShards}
	slowSteps   = []int{24, 64, 256, shard.MaxShards}
)

// Next returns the count to which a key with these traits grows from count: the first step that is at least twice the
// count, but at most bound.
func Next(t schema.Traits, count, bound int) int {
	steps := slowSteps
	if t.Placement == schema.RandomPlacement && !t.LargeSteps {
		steps = promptSteps
	}
	for _, step := range steps {
		if step >= 2*count {
			return min(step, bound)
		}
	}
	return bound
}

// Bound returns the largest useful count on a table with that many partitions: four write shards each.
func Bound(partitions int) int {
	return min(shard.MaxShards, 4*max(partitions, 1))
}
