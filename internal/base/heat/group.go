package heat

import (
	"cmp"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Siblings is the load of a base key's write shards in a window, in WCU/s. For an entity it is the load of one day's write
// shards, for a board of one period's.
type Siblings struct {
	Seen int     // number of listed write shards; 0 for a key without write shards
	Low  float64 // lower bound of the sum of the listed write shards
	High float64 // upper bound of the sum of the listed write shards
	Rest float64 // upper bound of the load of a write shard in the items that don't list it
}

// groupID identifies the write shards of one base key in one window.
type groupID struct {
	window
	index, name string
}

// group has the counts of the listed write shards of a groupID.
type group struct {
	units, errors uint64
	seen          int // number of write shards
}

// groupID returns the entry's groupID. It is zero for a key without write shards. It is also zero for a key of several
// windows, since each write shard may have another heaviest window.
func (e entry) groupID() groupID {
	if e.item.baseLength() < e.item.Window {
		return groupID{}
	}
	if _, ok := baseOf(e.item.Table, e.key.Index, e.key.Key); !ok {
		return groupID{}
	}
	name, _, _ := shard.Hash.Split(e.key.Key)
	return groupID{e.window(), e.key.Index, name}
}

// sumGroups replaces groups by the sums of the sorted entries. The zero groupID has an empty group.
func sumGroups(entries []entry, groups map[groupID]*group) {
	clear(groups)
	groups[groupID{}] = new(group)
	for i, e := range entries {
		id := e.groupID()
		if id == (groupID{}) {
			continue
		}
		g := groups[id]
		if g == nil {
			g = new(group)
			groups[id] = g
		}
		g.units += e.key.Units
		g.errors += e.key.Err
		if i == 0 || !e.sameKey(entries[i-1]) || e.window() != entries[i-1].window() {
			g.seen++
		}
	}
}

// siblings returns the group's load in a window of this length. rest is the most units of a write shard that is not listed.
func (g *group) siblings(length time.Duration, rest uint64) Siblings {
	if g.seen == 0 {
		return Siblings{}
	}
	seconds := length.Seconds()
	return Siblings{
		Seen: g.seen, Low: float64(g.units) / seconds,
		High: float64(g.units+g.errors) / seconds, Rest: float64(rest) / seconds,
	}
}

// unitsPerWrite returns the mean weight of a key's writes in a window, or 0 if it is unknown.
func unitsPerWrite(entries []entry) float64 {
	var units, writes uint64
	for _, e := range entries {
		if e.key.Writes > 0 {
			units += e.key.Units
			writes += e.key.Writes
		}
	}
	if writes == 0 {
		return 0
	}
	return float64(units) / float64(writes)
}

// Base returns the base key of a write shard's partition key in one of hotshard's own tables or indexes. It returns
// false for any other key.
func (k *Key) Base() (base schema.BaseKey, ok bool) { return baseOf("", k.Index, k.Key) }

// baseOf returns the base key of a write shard's partition key in hotshard's tables. It returns false for another key. The
// write shards of boards and of groups of sessions are in indexes: in the table, their keys are players and sessions.
func baseOf(table, index, key string) (base schema.BaseKey, ok bool) {
	k, err := schema.ParseKey(key)
	if err != nil || table != "" || schema.TraitsOf(k.Base.Type).Index != index {
		return base, false
	}
	return k.Base, true
}

// Base returns the base key of the row's partition key. It returns false if the key is no write shard.
func (r *KeyHeat) Base() (base schema.BaseKey, ok bool) { return baseOf(r.Table, r.Index, r.Key) }

// TableName returns the name of the table whose stream has the key's writes. Names of hotshard's own tables lack the
// deployment's prefix.
func (r *KeyHeat) TableName() string {
	k, _, _ := schema.CutKind(r.Key)
	return cmp.Or(r.Table, schema.TraitsOf(k).Table, schema.ItemsTable)
}

// MetricName returns the name of the row in metrics and log lines: its base key, or else the partition key.
func (r *KeyHeat) MetricName() string {
	base, ok := r.Base()
	if !ok {
		return r.Key
	}
	return base.String()
}

// isPastDay reports whether the row has an entity's events of a day before its hottest window.
func (r *KeyHeat) isPastDay() bool {
	k, err := schema.ParseKey(r.Key)
	if _, ok := r.Base(); !ok || err != nil || schema.TraitsOf(k.Base.Type).Bucket != schema.DayBucket {
		return false
	}
	return strings.Compare(k.Bucket, schema.EventBucket.Label(r.Start)) < 0
}
