package parts

import (
	"maps"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// MaxFields bounds the fields of an event rollup's merged fragment. The fragment of each stream shard has up to MaxMeasures
// fields, and they may differ. With names of 255 bytes the merged fragment has 80 KB.
const MaxFields = 200

var rollupCodec = codec[Rollup]{
	encode: Rollup.Attributes, decode: ParseRollup, clone: Rollup.Clone, merge: (*Rollup).Merge,
	holds: func(p Rollup) bool {
		return p.Events != 0 || p.Skipped != 0 || len(p.Measures) > 0
	},
	fits: func(total, p Rollup) bool {
		fields := maps.Clone(p.Measures)
		maps.Copy(fields, total.Measures)
		return len(fields) <= MaxFields
	},
	size: func(p Rollup) (n int) {
		const measure = 100
		for field := range p.Measures {
			n += measure + len(field)
		}
		return n
	},
}

// NewEvents returns a Store of event rollups over the rollups table.
func NewEvents(client Client, table string, now func() time.Time) *Store[Rollup] {
	return &Store[Rollup]{rollupCodec, client, table, now}
}

// RollupPart returns the fragment of an event rollup in an item, for a reader without a Store. It
// returns nil for a fragment that counts nothing, and an error for one that can't be read.
func RollupPart(stored item, now time.Time) (*Part[Rollup], error) {
	return rollupCodec.parseCounting(stored, now)
}

// Bucket identifies an event rollup: an entity's hour.
type Bucket struct {
	Entity string
	Start  time.Time
}

// End returns the first instant after the bucket.
func (b Bucket) End() time.Time { return b.Start.Add(time.Hour) }

// Label returns the bucket's time, as 2026-01-05T13.
func (b Bucket) Label() string { return shard.Hour.Label(b.Start) }

// Key returns the key of the rollup's fragments.
func (b Bucket) Key() Key {
	pk, sk := schema.RollupKey(b.Entity, b.Start, "")
	return Key{[]string{pk}, sk, schema.EventTarget(b.Entity, b.Start)}
}

// Expiry returns the expiry, in Unix seconds, of a fragment that replaces those read; 0 is never. It is not before the
// expiry of any fragment that counts, nor before the retention after the bucket's end. A retention of 0 is for ever.
func (b Bucket) Expiry(read []Part[Rollup], retention time.Duration, now time.Time) int64 {
	last, anyCounts := LatestExpiry(read, now)
	switch {
	case retention == 0, anyCounts && last == 0:
		return 0
	case !anyCounts && now.After(b.End()):
		return now.Add(retention).Unix()
	}
	return max(last, b.End().Add(retention).Unix())
}

// Target returns the target that the rollup's events fold into.
func (b Bucket) Target() schema.Target {
	return schema.Target{Base: schema.BaseKey{Type: schema.Event, Name: b.Entity}, Hour: b.Start}
}

// BucketFor returns the bucket of an entity's target.
func BucketFor(t schema.Target) Bucket {
	return Bucket{t.Base.Name, t.Hour.UTC()}
}

// BucketOf returns the bucket whose rollup has a fragment in an item of the rollups table; ok is false for other items.
func BucketOf(pk, sk string) (b Bucket, streamShard string, ok bool) {
	entity, _, err := schema.ParseRollupPartition(pk)
	if err != nil {
		return b, "", false
	}
	hour, streamShard, err := schema.ParseRollupSortKey(sk)
	return Bucket{entity, hour.UTC()}, streamShard, err == nil
}
