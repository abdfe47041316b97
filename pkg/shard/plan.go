package shard

import "math"

// Shares of a partition's limit that one write shard is planned to use. They
// leave room for write shards that meet on one partition, which happens by
// chance. A counter's write that finds its partition busy goes to another write
// shard; a calculated one can't.
//
// By simulation over 64 partitions, at ten times a partition's limit, these
// shares leave 99 % of storms without a second in which a partition is over its
// limit; twice the share does not.
const (
	RandomShare     = 0.25
	CalculatedShare = 0.125
)

// MaxShards is the largest shard count that is ever planned.
const MaxShards = 1000

// Needed returns how many write shards a key needs for rate write units a second,
// with partitions that take limit and write shards that are to use share of it.
// It is at least 1 and at most [MaxShards].
func Needed(rate, limit, share float64) int {
	n := math.Ceil(rate / (share * limit))
	switch {
	case n >= MaxShards:
		return MaxShards
	case n > 1:
		return int(n)
	}
	return 1 // also for rates that are no number
}

// Grown returns the shard count that a key of count write shards grows to when it
// needs needed: at least double, since a measured need is a lower bound, and at
// most [MaxShards].
func Grown(count, needed int) int {
	return min(max(needed, 2*count), MaxShards)
}
