package heat

import (
	"fmt"
	"math"
	"time"

	"github.com/hotshard/hotshard/pkg/shard/plan"
	"github.com/hotshard/hotshard/internal/growth"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Share returns the part of a partition's limit that one write shard of a base key
// of this type is planned to use: that of random write shards for counters and
// limits, that of calculated ones for events, leaderboard entries and sessions.
func Share(t schema.Type) float64 {
	if t == schema.Counter || t == schema.Limit {
		return plan.RandomShare
	}
	return plan.CalculatedShare
}

// largeWrite is how many units a write takes, on average, from which on an advice
// says that the items are large.
const largeWrite = 4

// Advice says in words what to do about the key, with the figures that it rests
// on: how many write shards it needs, or why more of them don't help. Shards is how
// many its base key has and since when that is so, the zero time for always, and
// partitions how many its table has; none of these matters for keys without write shards.
func (r *Row) Advice(shards int, since time.Time, partitions int) string {
	load := fmt.Sprintf("at least %.0f %% of the %.0f write units a second that a partition takes",
		math.Floor(100*r.WriteUnitsPerSecond/r.Limit), r.Limit)
	if r.Status == Saturated {
		load += ", so more may be refused"
	}
	load += ": "
	switch {
	case r.Crowd.Keys > 0:
		return load + r.Crowd.advice(r.Limit)
	case r.Status == Warm:
		return load + "nothing to do"
	}
	return load + r.cure(shards, since, partitions) + r.large()
}

func (c Crowd) advice(limit float64) string {
	return fmt.Sprintf("it is one of %d warm keys on a stream shard that takes %.0f %%, and none is hot by itself. If that is one partition, the partition is hot, which more write shards of one key don't cure: DynamoDB splits it, unless writes go to ever greater sort keys; until then, pace them",
		c.Keys, math.Floor(100*c.Rate/limit))
}

// cure is for a key that is hot.
func (r *Row) cure(shards int, since time.Time, partitions int) string {
	base, ok := r.Base()
	switch {
	case !ok && r.Index != "":
		return fmt.Sprintf("it has no write shards: spread its writes over %d partition keys of the index", r.wanted(schema.Entity, 1))
	case !ok:
		return fmt.Sprintf("it has no write shards: spread its writes over %d partition keys", r.wanted(schema.Entity, 1))
	case r.past():
		return "events of past days keep the write shards of their time, so more of them don't help: pace their sender"
	case since.After(r.FirstSeen):
		return fmt.Sprintf("it was first seen here before its %d write shards were in force, from %s: see whether they do", shards, since.UTC().Format(time.TimeOnly))
	case shards >= shard.MaxShards:
		return fmt.Sprintf("it has %d write shards, the most that there may be", shards)
	case r.Siblings.skewed(r.WriteUnitsPerSecond, shards):
		return fmt.Sprintf("its %d write shards together take %.1f a second, most of that this one, so more of them would stand idle: spread the attribute that the write shard is calculated from",
			shards, r.Siblings.Low)
	case shards >= growth.Bound(partitions):
		return fmt.Sprintf("its %d write shards are as many as help on the table's %d partitions, which are the limit: raise the table's warm throughput, or wait some minutes for DynamoDB to split them", shards, partitions)
	}
	return fmt.Sprintf("raise its %d write shards to %d", shards, min(r.wanted(base.Type, shards), growth.Bound(partitions)))
}

// wanted is how many write shards bring each down to its share, at least twice
// as many as there are. Without figures of the others they are taken to be like
// this one.
func (r *Row) wanted(t schema.Type, shards int) int {
	rate := r.Siblings.Low
	if r.Siblings.Seen < shards {
		rate = max(rate, r.WriteUnitsPerSecond*float64(shards))
	}
	return plan.Grown(shards, plan.Needed(rate, r.Limit, Share(t)))
}

// large says what large items have to do with it.
func (r *Row) large() string {
	if r.UnitsPerWrite < largeWrite {
		return ""
	}
	return fmt.Sprintf("; a write takes %.1f units on average, so its items have about %.0f KB: smaller ones cost less, and cool it as much",
		r.UnitsPerWrite, math.Ceil(r.UnitsPerWrite))
}
