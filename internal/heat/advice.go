package heat

import (
	"fmt"
	"math"

	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Base returns the base key that a partition key, of the table or of one of its
// indexes, is a write shard of; ok is false for one that is none. A leaderboard's
// write shards are in the index: what the table has under its prefix are players'
// entries, whatever number a player's name ends in.
func Base(index, key string) (base schema.BaseKey, ok bool) {
	switch index {
	case "":
		k, err := schema.ParseKey(key)
		return k.Base, err == nil && k.Base.Type != schema.Board
	case schema.ByRank:
		board, _, _, err := schema.ParseBoardShardKey(key)
		return schema.BaseKey{Type: schema.Board, Name: board}, err == nil
	}
	return schema.BaseKey{}, false
}

// Share returns the part of a partition's limit that one write shard of a base key
// of this type is planned to use: that of random write shards for counters and
// limits, that of calculated ones for events, leaderboard entries and sessions.
func Share(t schema.Type) float64 {
	if t == schema.Counter || t == schema.Limit {
		return shard.RandomShare
	}
	return shard.CalculatedShare
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
	base, ok := Base(r.Index, r.Key)
	if !ok {
		return load + "spread its writes over several partition keys, for it has no write shards"
	}
	return load + fmt.Sprintf("raise its %d write shards to %d", shards, r.wanted(base.Type, shards))
}

// wanted is how many write shards bring each down to its share, at least twice
// as many as there are.
func (r *Row) wanted(t schema.Type, shards int) int {
	return shard.Grown(shards, shard.Needed(r.WriteUnitsPerSecond*float64(shards), r.Limit, Share(t)))
}
