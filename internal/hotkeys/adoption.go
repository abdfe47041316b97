package hotkeys

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/heat/count"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/ownkeys"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// layouts are the kinds of an adopted table's names by [Settings.SourceLayout].
var layouts = map[string]kind.Kind{"calculated": kind.OwnTimed, "buckets": kind.OwnTimed, "random": kind.OwnRandom}

// checkAdoption checks the settings of an adopted table.
func (s Settings) checkAdoption(check func(ok bool, name string, value any, want string)) {
	if s.SourceMap == "" {
		check(s.SourceLayout == "", "HOTSHARD_SOURCE_LAYOUT", s.SourceLayout, "nothing, for there is no HOTSHARD_SOURCE_MAP")
		check(s.SourceBucket == "", "HOTSHARD_SOURCE_BUCKET", s.SourceBucket, "nothing, for there is no HOTSHARD_SOURCE_MAP")
		return
	}
	check(s.Source == Existing, "HOTSHARD_SOURCE_MAP", s.SourceMap, "nothing, for the source is hotshard")
	check(layouts[s.SourceLayout] != "", "HOTSHARD_SOURCE_LAYOUT", s.SourceLayout, "calculated, buckets or random, as the programs have it")
	check(s.SourceFormat.Valid() == nil, "HOTSHARD_SOURCE_FORMAT", s.SourceFormat, "text that is more than digits, as the programs have it")
	if s.SourceLayout == "buckets" {
		check(s.SourceBucket.Valid() == nil, "HOTSHARD_SOURCE_BUCKET", s.SourceBucket, "day, hour or minute, as the programs have it")
	} else {
		check(s.SourceBucket == "", "HOTSHARD_SOURCE_BUCKET", s.SourceBucket, "nothing, for the layout is not buckets")
	}
	check(s.SourceMax >= 1 && s.SourceMax <= shard.MaxShards, "HOTSHARD_SOURCE_MAX", s.SourceMax, fmt.Sprintf("1 to %d", shard.MaxShards))
}

// adoption is the table of [Settings.SourceMap]: hotshard did not make it, and its names have write shards.
type adoption struct {
	settings Settings
	keys     ownkeys.Keys
	kind     kind.Kind
	client   AdoptedTable
	asked    lastTexts // windows in which a name's new keys were read

	mu  sync.Mutex
	few map[string]*written // of hot names, until they are enough writes
}

// newAdoption returns nil if the table is not adopted.
func newAdoption(s Settings, client AdoptedTable) *adoption {
	if s.SourceMap == "" {
		return nil
	}
	return &adoption{settings: s, keys: ownkeys.Keys{Format: s.SourceFormat, Bucket: s.SourceBucket}, kind: layouts[s.SourceLayout], client: client}
}

// shardOf implements shardParser for the table's stored keys. The base key's name is the shard map's.
func (a *adoption) shardOf(row *heat.KeyHeat, start time.Time) (writeShard, bool) {
	name, label, n, ok := a.keys.Split(row.Key)
	if !ok || row.Index != "" {
		return writeShard{}, false
	}
	w := writeShard{base: schema.BaseKey{Type: a.kind, Name: a.settings.SourceNamespace + name}, bucket: label, n: n, name: a.keys.Join(name, label, 0)}
	if label != "" { // the offset of a name's buckets is unknown, and shorter than a bucket
		began, err := a.keys.Bucket.Start(label, 0)
		w.past = err == nil && !began.Add(2*a.keys.Bucket.Width()).After(start)
	}
	return w, true
}

// known returns the write shards that the shard map knows. A key that looks like another one is a name of its own.
func known(shards map[int]Load, entry shardmap.Entry) map[int]Load {
	shards = maps.Clone(shards)
	maps.DeleteFunc(shards, func(n int, _ Load) bool { return n >= entry.Most() })
	return shards
}

// confirm returns the decision to grow, or another one if more write shards would not help or are not free.
func (a *adoption) confirm(ctx context.Context, s suspect, w *loads, entry shardmap.Entry, d Decision, written *written) (Decision, error) {
	if why, enough := written.sameItem(); !enough {
		return d.none("too few of its writes were seen since it is hot"), nil
	} else if why != "" {
		return d.advise(why + ", so more write shards do not help: " + d.Why), nil
	}
	if d.To <= entry.Most() {
		return d, nil
	}
	if !a.asked.changed(s.name, w.start.String()) {
		return d.none("the keys of its new write shards were read in this window"), nil
	}
	err := ownkeys.Clear(ctx, a.client, a.settings.SourceTable, written.source.PartitionKey, a.newKeys(s, entry.Most(), d.To)...)
	if taken, is := errors.AsType[*shard.KeyError](err); is {
		return d.advise(fmt.Sprintf("items that the shard map does not know have the partition key %s of a new write shard: %s",
			a.settings.displayName(taken.Key), d.Why)), nil
	}
	return d, err
}

// newKeys returns the partition keys of the write shards from from, included, to to, excluded. With time buckets they are
// those of the hot bucket and of the next one.
func (a *adoption) newKeys(s suspect, from, to int) (list []string) {
	name, label, _, _ := a.keys.Split(s.name)
	labels := []string{label}
	if began, err := a.keys.Bucket.Start(label, 0); label != "" && err == nil {
		labels = append(labels, a.keys.Bucket.Label(began.Add(a.keys.Bucket.Width()), 0))
	}
	for _, label := range labels {
		for n := from; n < to; n++ {
			list = append(list, a.keys.Join(name, label, n))
		}
	}
	return list
}

// leastWrites is the number of writes of a name from which they show whether one item takes them. Deliveries with fewer add
// up if each comes within fewFor of the one before: some 7 items of 100 KB a second make a name hot.
const (
	leastWrites = 5
	fewFor      = time.Minute
)

// written has the writes of a name, by item.
type written struct {
	source   *count.Source
	last     time.Time // of its last delivery
	all      int
	items    map[string]int
	inserted map[string]bool
}

// writtenTo counts the writes of a suspect's write shards in a delivery, and those before if they were too few.
func (a *adoption) writtenTo(s suspect, records []ddbstream.Record, source *count.Source, now time.Time) *written {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.few[s.name]
	if w == nil || now.Sub(w.last) > fewFor {
		w = &written{source: source, items: make(map[string]int), inserted: make(map[string]bool)}
	}
	w.last = now
	for i := range records {
		rec := &records[i]
		if rec.Err != nil || rec.Expired {
			continue
		}
		pk, _ := rec.Keys.Key(source.PartitionKey)
		if name, label, _, ok := a.keys.Split(string(pk)); !ok || a.keys.Join(name, label, 0) != s.name {
			continue
		}
		sk, _ := rec.Keys.Key(source.SortKey)
		w.all++
		w.items[string(sk)]++
		if rec.Name == ddbstream.Insert {
			w.inserted[string(sk)] = true
		}
	}
	switch {
	case w.all >= leastWrites:
		delete(a.few, s.name)
	case a.few == nil || len(a.few) >= maxTexts:
		a.few = map[string]*written{s.name: w}
	default:
		a.few[s.name] = w
	}
	return w
}

// sameItem returns why more write shards would not take some of the writes, or "". It returns false if there are too few
// writes to say. An item stays where it is, so only new items go to new write shards.
func (w *written) sameItem() (why string, enough bool) {
	most := 0
	for _, n := range w.items {
		most = max(most, n)
	}
	switch {
	case w.all < leastWrites:
		return "", false
	case 2*most >= w.all:
		return fmt.Sprintf("one item takes %d of %d writes", most, w.all), true
	case len(w.inserted) < 2:
		return "its writes change items that stay where they are", true
	}
	return "", true
}
