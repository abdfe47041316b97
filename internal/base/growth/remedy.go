package growth

import (
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// Hot is a base key with a hot write shard. Rates are in WCU/s.
type Hot struct {
	Type    schema.Kind
	Limit   float64 // a partition's limit
	Shards  int     // the key's newest count
	Past    bool    // the hot write shard is in a time bucket that is over
	Hottest float64 // lower bound of the hottest write shard's rate
	Others  float64 // upper bound of the sum of the other write shards' rates; infinite if unknown
	Total   float64 // lower bound of the key's rate
}

// Remedy says how a hot key can be relieved.
type Remedy int

// The remedies.
const (
	Raise  Remedy = iota // a larger count
	Pace                 // slow the sender: past time buckets keep their write shards
	Spread               // spread the writes over the present write shards, which are too skewed for new ones to help
	Split                // more partitions: a larger count is useless on the present ones
)

// skew is the factor by which a skewed key's hottest write shard exceeds the mean of its other write shards.
const skew = 3

// isSkewed reports whether the hottest write shard takes so much more than the others that more write shards don't help.
func (h Hot) isSkewed() bool {
	return h.Shards > 1 && skew*h.Others < h.Hottest*float64(h.Shards-1)
}

// Remedy returns the remedy on a table with this many partitions, and the key's shard count with it. For [Raise] the count
// suffices for Total and is at least twice Shards, but at most the [Bound] of the partitions. For the other remedies the
// count is Shards.
func (h Hot) Remedy(partitions int) (r Remedy, count int) {
	bound := Bound(partitions)
	switch {
	case h.Past:
		return Pace, h.Shards
	case h.Shards >= shard.MaxShards:
		return Split, h.Shards
	case h.isSkewed():
		return Spread, h.Shards
	case h.Shards >= bound:
		return Split, h.Shards
	}
	return Raise, min(plan.Grown(h.Shards, Needed(h.Type, h.Total, h.Limit)), bound)
}

// Needed returns how many write shards a key of this type needs at a rate. Each then takes only the planned share of a
// partition's limit: [plan.RandomShare] with random placement, else [plan.CalculatedShare]. Rate and limit are in WCU/s.
func Needed(t schema.Kind, rate, limit float64) int {
	if schema.TraitsOf(t).Placement == schema.RandomPlacement {
		return plan.Needed(rate, limit, plan.RandomShare)
	}
	return plan.Needed(rate, limit, plan.CalculatedShare)
}
