package heat

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo/record"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Layer is a row of folded items, of all stream shards: of each window by itself, of the
// windows that start in a minute, or of those that start in ten. A window that is longer
// than that is in the layer as it is, at its own start.
type Layer int

// The layers.
const (
	ByWindow Layer = iota
	ByMinute
	ByTenMinutes
)

// layers has what tells the layers apart.
var layers = [...]struct {
	prefix string
	bucket shard.Bucket
	length time.Duration
	keys   int // that an item keeps, and as many of indexes
}{
	ByWindow:     {"H#w#", shard.Hour, 0, 256},
	ByMinute:     {"H#1m#", shard.Day, time.Minute, 512},
	ByTenMinutes: {"H#10m#", shard.Day, 10 * time.Minute, 512},
}

// Length is the time that an item is of; 0 of [ByWindow], whose windows have any length.
func (l Layer) Length() time.Duration { return layers[l].length }

// Partitions returns the partition keys of the layer's items that start at from or later
// and before to, in order of time.
func (l Layer) Partitions(from, to time.Time) (list []string) {
	for _, label := range layers[l].bucket.Labels(from, to, 0) {
		list = append(list, layers[l].prefix+label)
	}
	return list
}

// key depends on the table whose stream was read, the item's start and the length of its base windows alone.
func (l Layer) key(it *Item) (pk, sk string) {
	pk = layers[l].prefix + layers[l].bucket.Label(it.Start, 0)
	return pk, bound(it.Start) + "#" + cmp.Or(it.Table, it.Own) + "#" + strconv.FormatInt(it.Base.Milliseconds(), 10)
}

// Fold makes the layer's items of what lies in one of its times, which starts at start: one
// for each of [Kinds]. With ByWindow that is a window.
func (l Layer) Fold(items []Item, start time.Time) (folded []Item) {
	for _, kind := range Kinds(items) {
		if base := kind[0].base(); base > l.Length() { // at most one such window starts in the time
			folded = append(folded, Fold(kind, kind[0].Start, base))
		} else {
			folded = append(folded, Fold(kind, start, l.Length()))
		}
	}
	return folded
}

// Stored returns a folded item as it is stored in the layer, to be deleted by TTL some time
// after expires. Of the keys it has the 256 heaviest, from a minute on 512, and besides
// those that were hot, as many as fit in about 100 KB; and as many of indexes, in 50 KB.
func (l Layer) Stored(it *Item, expires time.Time) map[string]types.AttributeValue {
	pk, sk := l.key(it)
	kept := it.Heaviest(layers[l].keys)
	return kept.attributes(pk, sk, expires)
}

// Heaviest returns a folded item with so many of the table's heaviest keys, and as many of
// its indexes', and besides those that were hot, as many as fit in what is stored of one.
func (it Item) Heaviest(keys int) Item {
	return it.trimmed(cut{keys, it.HotRate, maxBytes}, cut{keys, it.HotRate, maxIndexBytes})
}

// Progress says which windows are in the layers: all that start at From or later and before
// To. Late is up to when it was seen to what came late, see [Late]. A time from Read on and before To
// without an item had no writes: the detector read it, and its items have not expired. Ran is when
// the task ran last, and Window the length of the detector's windows then; 0 is not known. Hold is the time whose quiet
// windows are stored together at its end; 0 if each is stored at its own.
type Progress struct {
	From time.Time `dynamodbav:"from"`
	To   time.Time `dynamodbav:"to"`
	Late time.Time `dynamodbav:"late"`
	Read time.Time `dynamodbav:"read"`
	Ran  time.Time `dynamodbav:"ran"`

	Window time.Duration `dynamodbav:"-"`
	Hold   time.Duration `dynamodbav:"-"`
}

// ProgressPartition is the partition key of the one item of the progress. Its sort key is
// [schema.SoleSK].
const ProgressPartition = "H#progress"

// storedProgress is kept for ever.
type storedProgress struct {
	record.Key
	Version uint64 `dynamodbav:"v"`
	Window  uint64 `dynamodbav:"window,omitempty"` // milliseconds
	Hold    uint64 `dynamodbav:"hold,omitempty"`   // likewise
	Progress
}

// Attributes returns the progress as it is stored.
func (p *Progress) Attributes() map[string]types.AttributeValue {
	return record.Item(storedProgress{record.Key{PK: ProgressPartition, SK: schema.SoleSK}, version, uint64(p.Window.Milliseconds()), uint64(p.Hold.Milliseconds()), *p})
}

// ParseProgress reads what Attributes makes.
func ParseProgress(attributes map[string]types.AttributeValue) (Progress, error) {
	var s storedProgress
	if err := read(attributes, &s); err != nil {
		return Progress{}, fmt.Errorf("heat: progress of the layers: %w", err)
	}
	s.Progress.Window, s.Progress.Hold = time.Duration(s.Window)*time.Millisecond, time.Duration(s.Hold)*time.Millisecond
	return s.Progress, nil
}

// Late notes that an item was put when its windows may have been folded without it.
type Late struct {
	Start, End time.Time // of the windows
	Noted      time.Time // after the item was put
}

// LatePartition is the partition key of all such notes. A sort key is when it was noted, as
// in [SortBounds], the windows' start and end and whose item it was.
const LatePartition = "H#late"

// LateNote returns the note of an item as it is stored. Its windows end at a time.
func (it *Item) LateNote(end, noted, expires time.Time) map[string]types.AttributeValue {
	return record.Item(struct {
		record.Key
		Version uint64 `dynamodbav:"v"`
		Expires int64  `dynamodbav:"expires_at"` // Unix seconds
	}{record.Key{PK: LatePartition, SK: bound(noted) + "#" + bound(it.Start) + "#" + bound(end) + "#" + it.source()}, version, expires.Unix()})
}

// ParseLate reads a note.
func ParseLate(attributes map[string]types.AttributeValue) (l Late, err error) {
	parts := strings.SplitN(sortKey(attributes), "#", 4)
	for i, at := range []*time.Time{&l.Noted, &l.Start, &l.End} {
		if err == nil && i < len(parts) {
			*at, err = time.Parse(schema.TimeLayout, parts[i])
		}
	}
	if err != nil || len(parts) < 4 {
		return Late{}, fmt.Errorf("heat: note %q of a late item: %w", sortKey(attributes), cmp.Or(err, errNote))
	}
	return l, nil
}

var errNote = errors.New("its sort key has too few parts")
