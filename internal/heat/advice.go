package heat

import (
	"fmt"
	"math"
	"time"

	"github.com/hotshard/hotshard/internal/growth"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

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
	if !ok {
		of := ""
		if r.Index != "" {
			of = " of the index"
		}
		_, keys := growth.Hot{Type: schema.Entity, Limit: r.Limit, Shards: 1, Total: r.WriteUnitsPerSecond}.Remedy(shard.MaxShards)
		return fmt.Sprintf("it has no write shards: spread its writes over %d partition keys%s", keys, of)
	}
	remedy, count := r.hot(base.Type, shards).Remedy(partitions)
	switch {
	case remedy == growth.Pace:
		return "events of past days keep the write shards of their time, so more of them don't help: pace their sender"
	case since.After(r.FirstSeen):
		return fmt.Sprintf("it was first seen here before its %d write shards were in force, from %s: see whether they do", shards, since.UTC().Format(time.TimeOnly))
	case remedy == growth.Spread:
		return fmt.Sprintf("its %d write shards together take %.1f a second, most of that this one, so more of them would stand idle: spread the attribute that the write shard is calculated from",
			shards, r.Siblings.Low)
	case shards >= shard.MaxShards:
		return fmt.Sprintf("it has %d write shards, the most that there may be", shards)
	case remedy == growth.Split:
		return fmt.Sprintf("its %d write shards are as many as help on the table's %d partitions, which are the limit: raise the table's warm throughput, or wait some minutes for DynamoDB to split them", shards, partitions)
	}
	return fmt.Sprintf("raise its %d write shards to %d", shards, count)
}

// hot is what is known of the row's base key. Write shards without figures are taken to be
// like this one.
func (r *Row) hot(t schema.Type, shards int) growth.Hot {
	hot := growth.Hot{
		Type: t, Limit: r.Limit, Shards: shards, Past: r.past(),
		Hottest: r.WriteUnitsPerSecond, Others: math.Inf(1), Total: r.Siblings.Low,
	}
	if r.Siblings.Seen > 0 {
		hot.Others = r.Siblings.High + float64(shards)*r.Siblings.Rest - r.WriteUnitsPerSecond
	}
	if r.Siblings.Seen < shards {
		hot.Total = max(hot.Total, r.WriteUnitsPerSecond*float64(shards))
	}
	return hot
}

// large says what large items have to do with it.
func (r *Row) large() string {
	if r.UnitsPerWrite < largeWrite {
		return ""
	}
	return fmt.Sprintf("; a write takes %.1f units on average, so its items have about %.0f KB: smaller ones cost less, and cool it as much",
		r.UnitsPerWrite, math.Ceil(r.UnitsPerWrite))
}
