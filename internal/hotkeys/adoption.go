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

// layouts maps [Settings.SourceLayout] to the kind of an adopted table's keys.
var layouts = map[string]kind.Kind{"calculated": kind.OwnTimed, "buckets": kind.OwnTimed, "random": kind.OwnRandom}

// checkAdoption checks the settings of an adopted table.
func (s Settings) checkAdoption(check func(ok bool, name string, value any, want string)) {
	if s.SourceMap == "" {
		check(s.SourceLayout == "", "HOTSHARD_SOURCE_LAYOUT", s.SourceLayout, "nothing without HOTSHARD_SOURCE_MAP")
		check(s.SourceBucket == "", "HOTSHARD_SOURCE_BUCKET", s.SourceBucket, "nothing without HOTSHARD_SOURCE_MAP")
		return
	}
	check(s.Source == Existing, "HOTSHARD_SOURCE_MAP", s.SourceMap, "nothing if HOTSHARD_SOURCE is hotshard")
	check(layouts[s.SourceLayout] != "", "HOTSHARD_SOURCE_LAYOUT", s.SourceLayout, "the programs' layout: calculated, buckets or random")
	check(s.SourceFormat.Valid() == nil, "HOTSHARD_SOURCE_FORMAT", s.SourceFormat, "the programs' format, which is more than digits")
	if s.SourceLayout == "buckets" {
		check(s.SourceBucket.Valid() == nil, "HOTSHARD_SOURCE_BUCKET", s.SourceBucket, "the programs' bucket: day, hour or minute")
	} else {
		check(s.SourceBucket == "", "HOTSHARD_SOURCE_BUCKET", s.SourceBucket, "nothing unless HOTSHARD_SOURCE_LAYOUT is buckets")
	}
	check(s.SourceMax >= 1 && s.SourceMax <= shard.MaxShards, "HOTSHARD_SOURCE_MAX", s.SourceMax, fmt.Sprintf("1 to %d", shard.MaxShards))
}

// adoption is an existing table whose programs spread its partition keys over write shards, by [Settings.SourceMap].
type adoption struct {
	settings Settings
	keys     ownkeys.Keys
	kind     kind.Kind
	client   AdoptedTable
	checked  lastTexts // by key: the window in which confirmGrowth read its new partition keys

	mu      sync.Mutex
	samples map[string]*writeSample // of hot keys, until they have minSample writes
}

// newAdoption returns nil if the table is not adopted.
func newAdoption(s Settings, client AdoptedTable) *adoption {
	if s.SourceMap == "" {
		return nil
	}
	return &adoption{settings: s, keys: ownkeys.Keys{Format: s.SourceFormat, Bucket: s.SourceBucket}, kind: layouts[s.SourceLayout], client: client}
}

// shardOf implements shardParser for the adopted table. The base key has the name that the shard map uses.
func (a *adoption) shardOf(row *heat.KeyHeat, start time.Time) (writeShard, bool) {
	name, label, n, ok := a.keys.Split(row.Key)
	if !ok || row.Index != "" {
		return writeShard{}, false
	}
	w := writeShard{base: schema.BaseKey{Type: a.kind, Name: a.settings.SourceNamespace + name}, bucket: label, n: n, name: a.keys.Join(name, label, 0)}
	if label != "" { // a bucket may begin up to its width later: each name has an offset, which is unknown here
		began, err := a.keys.Bucket.Start(label, 0)
		w.past = err == nil && !began.Add(2*a.keys.Bucket.Width()).After(start)
	}
	return w, true
}

// knownShards returns the write shards that the entry has had. A key with a greater number only looks like a write
// shard.
func knownShards(shards map[int]Load, entry shardmap.Entry) map[int]Load {
	shards = maps.Clone(shards)
	maps.DeleteFunc(shards, func(n int, _ Load) bool { return n >= entry.Most() })
	return shards
}

// confirmGrowth returns the decision to grow, or another one if more write shards would not help, or if a new write
// shard's partition key has items already.
func (a *adoption) confirmGrowth(ctx context.Context, s suspect, w *loads, entry shardmap.Entry, d Decision, sample *writeSample) (Decision, error) {
	if sample.writes < minSample {
		return d.none("too few of its writes were seen since it is hot"), nil
	}
	if why := sample.whyNoSpread(); why != "" {
		return d.advise(why + ", so more write shards do not help: " + d.Why), nil
	}
	if d.To <= entry.Most() {
		return d, nil
	}
	if !a.checked.changed(s.name, w.start.String()) {
		return d.none("the keys of its new write shards were read in this window"), nil
	}
	err := ownkeys.CheckUnused(ctx, a.client, a.settings.SourceTable, sample.source.PartitionKey, a.newKeys(s, entry.Most(), d.To)...)
	if taken, is := errors.AsType[*shard.KeyError](err); is {
		return d.advise(fmt.Sprintf("items that the shard map does not know have the partition key %s of a new write shard: %s",
			a.settings.displayName(taken.Key), d.Why)), nil
	}
	return d, err
}

// newKeys returns the partition keys of the write shards from first up to count-1. With time buckets it returns those
// of the hot bucket and of the next one.
func (a *adoption) newKeys(s suspect, first, count int) (list []string) {
	name, label, _, _ := a.keys.Split(s.name)
	labels := []string{label}
	if began, err := a.keys.Bucket.Start(label, 0); label != "" && err == nil {
		labels = append(labels, a.keys.Bucket.Label(began.Add(a.keys.Bucket.Width()), 0))
	}
	for _, label := range labels {
		for n := first; n < count; n++ {
			list = append(list, a.keys.Join(name, label, n))
		}
	}
	return list
}

const (
	// minSample is the number of writes that show whether one item takes them.
	minSample = 5

	// sampleGap is the longest time between two deliveries whose writes are one sample. About 7 items of 100 KB a
	// second make a key hot, so a delivery may have too few writes.
	sampleGap = time.Minute
)

// writeSample counts the writes of a hot key by sort key.
type writeSample struct {
	source   *count.Source
	last     time.Time // of the last delivery
	writes   int
	items    map[string]int
	inserted map[string]bool
}

// sampleWrites counts the writes to a suspect's write shards in a delivery. It adds them to an earlier sample that was
// too small.
func (a *adoption) sampleWrites(s suspect, records []ddbstream.Record, source *count.Source, now time.Time) *writeSample {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.samples[s.name]
	if w == nil || now.Sub(w.last) > sampleGap {
		w = &writeSample{source: source, items: make(map[string]int), inserted: make(map[string]bool)}
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
		w.writes++
		w.items[string(sk)]++
		if rec.Name == ddbstream.Insert {
			w.inserted[string(sk)] = true
		}
	}
	switch {
	case w.writes >= minSample:
		delete(a.samples, s.name)
	case a.samples == nil || len(a.samples) >= maxTexts:
		a.samples = map[string]*writeSample{s.name: w}
	default:
		a.samples[s.name] = w
	}
	return w
}

// whyNoSpread returns why new write shards would not take some of the writes, or "" if they would. An item never moves,
// so only new items go to new write shards.
func (w *writeSample) whyNoSpread() string {
	most := 0
	for _, n := range w.items {
		most = max(most, n)
	}
	switch {
	case 2*most >= w.writes:
		return fmt.Sprintf("one item takes %d of %d writes", most, w.writes)
	case len(w.inserted) < 2:
		return "its writes change items that stay where they are"
	}
	return ""
}
