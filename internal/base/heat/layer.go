package heat

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo/record"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Layer is a series of items that are folded over all stream shards. An item has one window, or the windows that start
// in one minute, or in ten minutes. A window that is longer has an item of its own, with its own start.
type Layer int

// The layers.
const (
	ByWindow Layer = iota
	ByMinute
	ByTenMinutes
)

// layers has the properties of each layer.
var layers = [...]struct {
	prefix string
	bucket shard.Bucket
	length time.Duration
	keys   int // number of the table's heaviest keys that an item keeps, and of indexes' keys
}{
	ByWindow:     {"H#w#", shard.Hour, 0, 256},
	ByMinute:     {"H#1m#", shard.Day, time.Minute, 512},
	ByTenMinutes: {"H#10m#", shard.Day, 10 * time.Minute, 512},
}

// Length returns the time that an item covers; 0 for [ByWindow], whose windows have any length.
func (l Layer) Length() time.Duration { return layers[l].length }

// Partitions returns the partition keys of the layer's items that start at from or later
// and before to, in order of time.
func (l Layer) Partitions(from, to time.Time) (list []string) {
	for _, label := range layers[l].bucket.Labels(from, to, 0) {
		list = append(list, layers[l].prefix+label)
	}
	return list
}

// key returns the primary key of a layer's item. It depends only on the table whose stream was read, the item's start
// and the length of its base windows.
func (l Layer) key(it *Item) (pk, sk string) {
	pk = layers[l].prefix + layers[l].bucket.Label(it.Start, 0)
	return pk, bound(it.Start) + "#" + cmp.Or(it.Table, it.Own) + "#" + strconv.FormatInt(it.Base.Milliseconds(), 10)
}

// Fold folds items into the layer's items for the time that begins at start, one for each group of foldGroups.
func (l Layer) Fold(items []Item, start time.Time) (folded []Item) {
	for _, kind := range foldGroups(items) {
		if base := kind[0].base(); base > l.Length() { // at most one such window starts in the time
			folded = append(folded, Fold(kind, kind[0].Start, base))
		} else {
			folded = append(folded, Fold(kind, start, l.Length()))
		}
	}
	return folded
}

// Stored returns the attributes of a folded item; TTL deletes it some time after expires. The item keeps the 256
// heaviest keys, 512 in [ByMinute] and [ByTenMinutes], and all hot keys, as far as they fit into about 100 KB. It keeps
// as many keys of indexes, in 50 KB.
func (l Layer) Stored(it *Item, expires time.Time) map[string]types.AttributeValue {
	pk, sk := l.key(it)
	kept := it.Heaviest(layers[l].keys)
	return record.Item(storedLayer{kept.stored(pk, sk, expires), it.Records})
}

// storedLayer is a stored item of a layer. An item with more records is not replaced.
type storedLayer struct {
	stored
	Records uint64 `dynamodbav:"records"`
}

// Heaviest returns a folded item with that number of the table's heaviest keys and all its hot keys, as far as they fit
// into a stored item. It keeps as many keys of indexes.
func (it Item) Heaviest(keys int) Item {
	return it.trimmed(cut{keys, it.HotRate, maxBytes}, cut{keys, it.HotRate, maxIndexBytes})
}

// Progress is how far the layers are complete. Zero values are unknown.
type Progress struct {
	From time.Time `dynamodbav:"from"` // the layers have the windows that start at From or later
	To   time.Time `dynamodbav:"to"`   // and before To
	Late time.Time `dynamodbav:"late"` // up to this time the task has added items that were put late
	Read time.Time `dynamodbav:"read"` // a time from Read to To without an item had no writes
	Ran  time.Time `dynamodbav:"ran"`  // the last run of the task

	Window time.Duration `dynamodbav:"window"` // length of the detector's windows at Ran
	Hold   time.Duration `dynamodbav:"hold"`   // quiet windows are stored together after each Hold; 0 if each is stored alone
	Held   time.Duration `dynamodbav:"held"`   // the only Hold that there ever was, or MaxHold after a change
}

// HeldSince returns the earliest start that a stored item of several windows can have if one of them contains t.
func (p *Progress) HeldSince(t time.Time) time.Time { return AlignDown(t, cmp.Or(p.Held, MaxHold)) }

// ProgressPartition is the partition key of the progress item. Its sort key is [schema.SoleSK].
const ProgressPartition = "H#progress"

// storedProgress is the stored form of Progress. It does not expire.
type storedProgress struct {
	record.Key
	Version uint64 `dynamodbav:"v"`
	Progress
}

// Attributes returns the item of the progress.
func (p *Progress) Attributes() map[string]types.AttributeValue {
	return record.Item(storedProgress{record.Key{PK: ProgressPartition, SK: schema.SoleSK}, version, *p})
}

// ParseProgress decodes an item that Attributes encoded.
func ParseProgress(attributes map[string]types.AttributeValue) (Progress, error) {
	var s storedProgress
	if err := read(attributes, &s); err != nil {
		return Progress{}, fmt.Errorf("heat: progress of the layers: %w", err)
	}
	return s.Progress, nil
}

// Late is a note that an item was put after its windows may have been folded.
type Late struct {
	Start time.Time `dynamodbav:"start"` // of the windows
	End   time.Time `dynamodbav:"end"`   // of the windows
	Noted time.Time `dynamodbav:"noted"` // after the item was put
}

// LatePartition is the partition key of all such notes. The sort key is the time of the note, as in [SortBounds], the
// windows' start, and the item's source.
const LatePartition = "H#late"

// storedLate is the stored form of Late.
type storedLate struct {
	record.Key
	Version uint64 `dynamodbav:"v"`
	Late
	Expires int64 `dynamodbav:"expires_at"` // Unix seconds
}

// LateNote returns the attributes of a note about the item, whose windows end at end.
func (it *Item) LateNote(end, noted, expires time.Time) map[string]types.AttributeValue {
	key := record.Key{PK: LatePartition, SK: bound(noted) + "#" + bound(it.Start) + "#" + it.source()}
	return record.Item(storedLate{key, version, Late{it.Start, end, schema.CeilMilli(noted)}, expires.Unix()})
}

// ParseLate decodes a note.
func ParseLate(attributes map[string]types.AttributeValue) (Late, error) {
	var s storedLate
	if err := read(attributes, &s); err != nil {
		return Late{}, fmt.Errorf("heat: note %q of a late item: %w", sortKey(attributes), err)
	}
	return s.Late, nil
}
