// Package growth is the rule by which a process that writes asks for more write shards of
// a key: by what became of its own writes of late, and nothing else. It has no input or
// output, and is told the time.
//
//	keys := growth.NewKeys(growth.MaxKeys)
//	keys.Requested(growth.Request{Key: "C#likes", Placement: growth.Random}, now)
//	switch keys.Attempted(growth.Attempt{Key: "C#likes", Count: 1, Refused: true}, growth.Bound(partitions), now) {
//	case growth.Look: // read the key's entry, and go by it: somebody else may have had it grow
//	case growth.Ask: // the same, and change its count if nobody else has
//	case growth.Bounded: // more write shards would not help
//	}
package growth

import (
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Placement says how a key's writes find their write shards, and with that how a larger
// count takes effect.
type Placement int

// The placements.
const (
	Random  Placement = iota // any write shard will do, and the newest count is in force at once: counters, limits
	Timed                    // calculated, by the count in force at the write's time: events
	Indexed                  // calculated, by the newest count, but what is there moves with its next write: boards, sessions
)

// PlacementOf returns the placement of a type's keys.
func PlacementOf(t schema.Type) Placement {
	switch t {
	case schema.Entity:
		return Timed
	case schema.Board, schema.Sessions:
		return Indexed
	}
	return Random
}

// By how much a count is raised. Events wait for the lead, and rows of an index for their
// next write, so that their first step is a large one.
const (
	step      = 4  // times the count
	firstStep = 24 // the count after one write shard, where places are calculated
)

// Next returns the count that follows on this one, at most bound.
func (p Placement) Next(count, bound int) int {
	if p != Random && count == 1 {
		return min(firstStep, bound)
	}
	return min(step*count, bound)
}

// Bound returns the largest count that can help on a table of so many partitions: with
// four write shards on each of them, more only meet on the same ones.
func Bound(partitions int) int {
	return min(shard.MaxShards, 4*max(partitions, 1))
}
