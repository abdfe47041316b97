package heat

import (
	"fmt"
	"math"

	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Share returns the part of a partition's limit that one write shard of a base key
// of this type is planned to use: that of calculated write shards for events and
// leaderboard entries, that of random ones for counters and sessions.
func Share(t schema.Type) float64 {
	if t == schema.Entity || t == schema.Board {
		return shard.CalculatedShare
	}
	return shard.RandomShare
}

// Advice says in words what to do about the status.
func (s Status) Advice() string {
	switch s {
	case Warm:
		return "nothing to do"
	case Saturated:
		return "it throttled: spread its writes over more write shards"
	}
	return "spread its writes over more write shards before it throttles"
}

// Advice says in words what to do about the key, with the figures that it rests
// on. Shards is how many write shards its base key has now, over which its load
// is taken to be even; it does not matter for keys without write shards.
func (r *Row) Advice(shards int) string {
	load := fmt.Sprintf("at least %.0f %% of the %.0f write units a second that a partition takes: ",
		math.Floor(100*r.WriteUnitsPerSecond/r.Limit), r.Limit)
	switch r.Status {
	case Warm:
		return load + r.Status.Advice()
	case Saturated:
		load = "it was refused writes, and took " + load
	}
	key, err := schema.ParseKey(r.Key)
	if err != nil || key.Base.Type == schema.Board && r.Status != Saturated {
		return load + "spread its writes over several partition keys, for it has no write shards"
	}
	return load + fmt.Sprintf("raise its %d write shards to %d", shards, r.wanted(key.Base.Type, shards))
}

// wanted is how many write shards bring each down to its share, at least twice
// as many as there are.
func (r *Row) wanted(t schema.Type, shards int) int {
	return shard.Grown(shards, shard.Needed(r.WriteUnitsPerSecond*float64(shards), r.Limit, Share(t)))
}
