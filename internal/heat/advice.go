package heat

import (
	"fmt"
	"math"

	"github.com/hotshard/hotshard/internal/schema"
)

// Shares of a partition's limit that one write shard is planned to take. Events
// get the smaller one: their write shard is calculated, so when two of them meet
// on a partition they have no other to go to.
const (
	shareRandom     = 0.25
	shareCalculated = 0.125
)

// Advice says in words what to do about the status.
func (s Status) Advice() string {
	if s == Warm {
		return "nothing to do"
	}
	return "spread its writes over more write shards before it throttles"
}

// Advice says in words what to do about the key, with the figures that it rests
// on. Shards is how many write shards its base key has now, over which its load
// is taken to be even; it does not matter for keys without write shards.
func (r *Row) Advice(shards int) string {
	load := fmt.Sprintf("at least %.0f %% of the %.0f write units a second that a partition takes: ",
		math.Floor(100*r.WriteUnitsPerSecond/r.Limit), r.Limit)
	if r.Status == Warm {
		return load + r.Status.Advice()
	}
	key, err := schema.ParseKey(r.Key)
	if err != nil || key.Base.Type == schema.Board {
		return load + "spread its writes over several partition keys, for it has no write shards"
	}
	return load + fmt.Sprintf("raise its %d write shards to %d", shards, r.wanted(key.Base.Type, shards))
}

// wanted is how many write shards bring each down to its share, at least twice
// as many as there are.
func (r *Row) wanted(t schema.Type, shards int) int {
	share := shareRandom
	if t == schema.Entity {
		share = shareCalculated
	}
	total := r.WriteUnitsPerSecond * float64(shards)
	return max(int(math.Ceil(total/(share*r.Limit))), 2*shards)
}
