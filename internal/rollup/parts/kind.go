package parts

import (
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/rollup/measures"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// kind says how one kind of value is stored, and added up.
type kind[V any] struct {
	encode func(V) item // without what all parts have
	decode func(item) (V, error)
	clone  func(V) V
	merge  func(total *V, value V)
	fits   func(total, value V) bool // whether one part can have both
	holds  func(V) bool              // whether it is more than nothing
	size   func(V) int               // about what it takes as an item, in bytes
}

// attributes is a part as it is stored, without its keys.
func (k kind[V]) attributes(p Part[V]) item {
	stored := k.encode(p.Value)
	stored[schema.RollupSequence] = dynamo.String(p.Sequence)
	if !p.AsOf.IsZero() {
		stored[schema.AsOf] = dynamo.Number(p.AsOf.UnixMilli())
	}
	if p.ExpiresAt != 0 {
		stored[schema.ExpiresAt] = dynamo.Number(p.ExpiresAt)
	}
	return stored
}

// parse reads a part out of its item, all but its stream shard.
func (k kind[V]) parse(stored item) (p Part[V]) {
	p.stored, p.Sequence = stored, sequenceOf(stored)
	p.Value, p.Damage = k.decode(stored)
	if p.Sequence == "" {
		p.Damage = errors.Join(p.Damage, errors.New("its seq is missing, or none"))
	}
	seconds, known := dynamo.Whole(stored, schema.ExpiresAt)
	p.ExpiresAt = seconds
	if !known && stored[schema.ExpiresAt] != nil {
		p.Damage = errors.Join(p.Damage, errors.New("its "+schema.ExpiresAt+" is not a whole number"))
	}
	if at, known := dynamo.Millis(stored, schema.AsOf); known {
		p.AsOf = at
	}
	return p
}

// sequenceOf returns a part's sequence number, "" for what can't be one: a fold would
// take all records for older than other text. Text behind the digits keeps its place.
func sequenceOf(stored item) string {
	sequence := dynamo.Text(stored, schema.RollupSequence)
	merged := strings.HasSuffix(dynamo.Text(stored, schema.SK), schema.MergedPart)
	if !merged && (sequence < "0" || sequence > "9~") {
		return ""
	}
	return sequence
}

// MaxFields bounds the fields of an event rollup's merged part. A fold's part has up to
// measures.MaxMeasures, each of its own. With names of 255 bytes the merged part then
// has 80 KB, of the 400 KB that an item may have.
const MaxFields = 200

var eventKind = kind[measures.Part]{
	encode: measures.Part.Attributes, decode: measures.Parse, clone: measures.Part.Clone, merge: (*measures.Part).Merge,
	holds: func(p measures.Part) bool {
		return p.Events > 0 || p.Skipped > 0 || p.Restated || len(p.Measures) > 0
	},
	fits: func(total, p measures.Part) bool {
		fields := maps.Clone(p.Measures)
		maps.Copy(fields, total.Measures)
		return len(fields) <= MaxFields
	},
	size: func(p measures.Part) (n int) {
		const measure = 100
		for field := range p.Measures {
			n += measure + len(field)
		}
		return n
	},
}

var histogramKind = kind[board.Histogram]{
	encode: board.Histogram.Attributes, decode: board.StoredHistogram, clone: board.Histogram.Clone,
	merge: func(total *board.Histogram, h board.Histogram) {
		total.Merge(h)
		total.Limit(board.MaxCells)
	},
	holds: func(h board.Histogram) bool { return h.Cells() > 0 },
	fits:  func(board.Histogram, board.Histogram) bool { return true },
	size: func(h board.Histogram) int {
		const cell = 20 // at most, packed
		return cell * h.Cells()
	},
}

// NewEvents returns a Store of event rollups over the rollups table.
func NewEvents(client Client, table string, now func() time.Time) *Store[measures.Part] {
	return &Store[measures.Part]{eventKind, client, table, now}
}

// NewHistograms returns a Store of boards' histograms over the rollups table.
func NewHistograms(client Client, table string, now func() time.Time) *Store[board.Histogram] {
	return &Store[board.Histogram]{histogramKind, client, table, now}
}

// Bucket names an event rollup: an entity's hour or day.
type Bucket struct {
	Entity string
	Width  shard.Bucket // hour or day
	Start  time.Time
}

// End is the first instant after the bucket.
func (b Bucket) End() time.Time { return b.Start.Add(b.Width.Width()) }

// Label is the bucket's time, as 2026-01-05T13 or 2026-01-05.
func (b Bucket) Label() string { return b.Width.Label(b.Start, 0) }

// Key is where the rollup's parts are.
func (b Bucket) Key() Key {
	pk, sk := schema.RollupKey(b.Entity, b.Width, b.Start, "")
	return Key{pk, sk, schema.EventTarget(b.Entity, b.Width, b.Start)}
}

// Expiry is when what is made of the parts read ends, 0 for never: not before any of
// those that count, nor before the retention, 0 for ever, after the bucket's end.
func (b Bucket) Expiry(read []Part[measures.Part], retention time.Duration, now time.Time) int64 {
	last, some := Last(read, now)
	switch {
	case retention == 0, some && last == 0:
		return 0
	case !some && now.After(b.End()):
		return now.Add(retention).Unix()
	}
	return max(last, b.End().Add(retention).Unix())
}

// Target is what the rollup's events fold into.
func (b Bucket) Target() schema.Target {
	return schema.Target{Base: schema.BaseKey{Type: schema.Entity, Name: b.Entity}, Bucket: b.Width, Start: b.Start}
}

// BucketFor is the bucket of an entity's target.
func BucketFor(t schema.Target) Bucket {
	return Bucket{Entity: t.Base.Name, Width: t.Bucket, Start: t.Start.UTC()}
}

// BucketOf returns the bucket that an item of the rollups table has a part of; ok is
// false for other items.
func BucketOf(pk, sk string) (b Bucket, streamShard string, ok bool) {
	entity, _, err := schema.ParseRollupPartition(pk)
	if err != nil {
		return b, "", false
	}
	width, start, streamShard, err := schema.ParseRollupSortKey(sk)
	return Bucket{entity, width, start.UTC()}, streamShard, err == nil
}

// Period names a board's histogram: that of one of its periods.
type Period struct{ Board, Label string }

// PK is the partition key of the period's summaries.
func (p Period) PK() string { return schema.BoardRollupKey(p.Board, p.Label) }

// Key is where the histogram's parts are.
func (p Period) Key() Key { return Key{p.PK(), schema.HistogramPrefix, p.PK()} }

// Target is what the period's entries fold into.
func (p Period) Target() schema.Target {
	return schema.Target{Base: schema.BaseKey{Type: schema.Board, Name: p.Board}, Period: p.Label}
}

// PeriodOf returns the period that an item of the rollups table has a part of a histogram
// of; ok is false for other items.
func PeriodOf(pk, sk string) (p Period, streamShard string, ok bool) {
	streamShard, ok = strings.CutPrefix(sk, schema.HistogramPrefix)
	target, err := schema.ParseTarget(pk)
	if !ok || err != nil || target.Base.Type != schema.Board {
		return p, "", false
	}
	return Period{target.Base.Name, target.Period}, streamShard, true
}

// TargetOf returns the target whose summary, or a part of it, an item of the rollups table
// is; ok is false for other items.
func TargetOf(pk, sk string) (t schema.Target, ok bool) {
	b, _, ok := BucketOf(pk, sk)
	if ok {
		return b.Target(), true
	}
	t, err := schema.ParseTarget(pk)
	switch {
	case err != nil:
		return t, false
	case t.Base.Type == schema.Board:
		return t, sk == schema.TopSK || strings.HasPrefix(sk, schema.HistogramPrefix)
	}
	return t, t.Base.Type == schema.Counter && sk == schema.SoleSK
}
