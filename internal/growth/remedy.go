package growth

import (
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// Hot is a base key of which a write shard is hot. Rates are in write units a second.
type Hot struct {
	Type    schema.Type
	Limit   float64 // what a partition takes
	Shards  int     // the key's newest count
	Past    bool    // the write shard is of a time bucket that is over
	Hottest float64 // the hottest write shard takes at least so much
	Others  float64 // the others take at most so much together; infinite if that is not known
	Total   float64 // all of them take at least so much
}

// Remedy is what cures a hot key.
type Remedy int

// The remedies.
const (
	Raise  Remedy = iota // a larger count
	Pace                 // a slower sender: write shards of a time that is over stay as they are
	Spread               // other write shards for the same writes: of this skew more would stand idle too
	Split                // more partitions: the count is the largest that helps on those there are
)

// far is how many times cooler than a key's hottest write shard the others are, on
// average, when its load is skewed.
const far = 3

// Remedy returns what to do about the key on a table of so many partitions, and the shard
// count for that: for [Raise] one that the total needs, and at least twice today's.
func (h Hot) Remedy(partitions int) (r Remedy, count int) {
	bound := Bound(partitions)
	switch {
	case h.Past:
		return Pace, h.Shards
	case h.Shards >= shard.MaxShards:
		return Split, h.Shards
	case h.Shards > 1 && far*h.Others < h.Hottest*float64(h.Shards-1):
		return Spread, h.Shards
	case h.Shards >= bound:
		return Split, h.Shards
	}
	return Raise, min(plan.Grown(h.Shards, Needed(h.Type, h.Total, h.Limit)), bound)
}

// Needed is how many write shards a key of a type needs at a rate, where a partition takes
// limit: so many that each is down to the share of it that is planned for its placement.
func Needed(t schema.Type, rate, limit float64) int {
	if PlacementOf(t) == Random {
		return plan.Needed(rate, limit, plan.RandomShare)
	}
	return plan.Needed(rate, limit, plan.CalculatedShare)
}
