package heat

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo/record"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Series is a kind of heat item. The oldest windows are in [Blocks], newer windows in [Minutes], and the newest windows in
// [Prompt]. [Late] has more items of windows in Minutes and Prompt. [Progress] has the times between the series.
type Series int

// The series.
const (
	Prompt  Series = iota // items of stream shards that were put before their minute was folded
	Late                  // items of stream shards that were put later
	Minutes               // the windows that start in a minute, folded over all stream shards from Prompt
	Blocks                // the windows that start in ten minutes, folded over all stream shards and time
)

// seriesTraits has the properties of each series.
var seriesTraits = [...]struct {
	prefix string
	bucket shard.Bucket
	each   time.Duration // length of the bucket
	salts  int           // partition keys of a bucket; 0 for one without a salt
	length time.Duration // time of an item; 0 for items of stream shards
	keys   int           // number of heaviest keys that a folded window keeps, of the table and of indexes each
}{
	Prompt:  {"K#", shard.Hour, time.Hour, Salts, 0, 0},
	Late:    {"K#late#", shard.Hour, time.Hour, lateSalts, 0, 0},
	Minutes: {"H#1m#", shard.Hour, time.Hour, 0, time.Minute, 256},
	Blocks:  {"H#10m#", shard.Day, 24 * time.Hour, 0, 10 * time.Minute, 512},
}

// Length returns the time that an item covers; 0 for [Prompt] and [Late].
func (s Series) Length() time.Duration { return seriesTraits[s].length }

// Partitions returns the partition keys of the items that start in the same hour as a time, or for [Blocks] on the same day.
// It also returns the end of this hour or day.
func (s Series) Partitions(at time.Time) (list []string, end time.Time) {
	t := seriesTraits[s]
	pk, end := t.prefix+t.bucket.Label(at), at.Truncate(t.each).Add(t.each)
	if t.salts == 0 {
		return []string{pk}, end
	}
	for salt := range t.salts {
		list = append(list, shard.Hash.Join(pk, salt))
	}
	return list, end
}

// partition returns the partition key of a stream shard's item in [Prompt] or [Late].
func (s Series) partition(it *Item) string {
	list, _ := s.Partitions(it.Start)
	return list[shard.Calculated(it.StreamShard, len(list))]
}

// Span has the windows that start in a minute or in a block, folded over all stream shards. A window that is longer than the
// span keeps its own start.
type Span struct {
	Start      time.Time
	Windows    []Item // of any tables; in order of time for each
	Incomplete bool   // windows may be missing
}

// ErrIncomplete means that a minute or a block is missing or may lack windows. In errors the item or its time precedes this
// text.
var ErrIncomplete = errors.New("lacks windows")

// storedSpan is the stored form of a span. The windows of each table are encoded together.
type storedSpan struct {
	record.Key
	Version    uint64    `dynamodbav:"v"`
	Tables     []encoded `dynamodbav:"tables"`
	Incomplete bool      `dynamodbav:"incomplete"`
	Expires    int64     `dynamodbav:"expires_at"` // Unix seconds
}

// encoded has encoded windows: see coder. It is a type because DynamoDB's sets of bytes can't be empty.
type encoded []byte

// maxSpanBytes bounds the windows of a stored span.
const maxSpanBytes = 300_000

// Stored returns the attributes of a span of [Minutes] or [Blocks]; TTL deletes it some time after expires. Its windows
// keep the heaviest keys, 256 in Minutes and 512 in Blocks, and all hot keys, as far as they fit.
func (s Series) Stored(span *Span, expires time.Time) map[string]types.AttributeValue {
	keyBytes := maxBytes
	tables, size := s.encodeTables(span.Windows, keyBytes)
	for size > maxSpanBytes {
		keyBytes /= 2
		tables, size = s.encodeTables(span.Windows, keyBytes)
	}
	return record.Item(storedSpan{s.key(span.Start, ""), version, tables, span.Incomplete, expires.Unix()})
}

// encodeTables encodes the windows of each table, with their size in bytes. Each window keeps up to keyBytes of the table's
// keys, and half as much of its indexes' keys. tables is not nil, which DynamoDB would store as NULL.
func (s Series) encodeTables(windows []Item, keyBytes int) (tables []encoded, size int) {
	tables = []encoded{}
	keys := seriesTraits[s].keys
	for _, list := range foldGroups(windows) {
		for i, it := range list {
			list[i] = it.trimmed(keyLimits{keys, it.HotRate, keyBytes}, keyLimits{keys, it.HotRate, keyBytes / 2})
			first := &list[0] // encode stores its limit and hot rate for all windows
			first.Limit, first.HotRate = min(first.Limit, it.Limit), min(first.HotRate, it.HotRate)
		}
		windows := encode(list, false)
		tables, size = append(tables, windows), size+len(windows)
	}
	return tables, size
}

// LateMark returns the attributes of an item that marks a block as incomplete: the block may lack an item that is put after
// the block was folded. start is a time in the block; TTL deletes the mark some time after expires.
func LateMark(start, expires time.Time) map[string]types.AttributeValue {
	start = AlignDown(start, Blocks.Length())
	return record.Item(storedSpan{Blocks.key(start, "late"), version, []encoded{}, true, expires.Unix()})
}

// key returns the primary key of an item that is folded over all stream shards. suffix is "" for the span itself.
func (s Series) key(start time.Time, suffix string) record.Key {
	partitions, _ := s.Partitions(start)
	return record.Key{PK: partitions[0], SK: SortBound(start) + "#" + suffix}
}

// FoldAll folds the items of the time from start to start+length into one for each table and length of windows. Items
// whose windows are longer (all, if length is 0) keep their own start and length.
func FoldAll(items []Item, start time.Time, length time.Duration) (folded []Item) {
	for _, kind := range foldGroups(items) {
		if base := kind[0].baseLength(); base > length { // at most one such window starts in the time
			folded = append(folded, Fold(kind, kind[0].Start, base))
		} else {
			folded = append(folded, Fold(kind, start, length))
		}
	}
	return folded
}

// Heaviest returns a folded item with that number of the table's heaviest keys and all its hot keys, as far as they fit
// into a stored item. It keeps as many keys of indexes.
func (it Item) Heaviest(keys int) Item {
	return it.trimmed(keyLimits{keys, it.HotRate, maxBytes}, keyLimits{keys, it.HotRate, maxIndexBytes})
}

// Progress is how far the heat task has folded the windows. A zero value means that the field is unknown.
type Progress struct {
	From   time.Time `dynamodbav:"from"`   // start of the first folded window
	To     time.Time `dynamodbav:"to"`     // windows that start from From to To are in Minutes and Late
	Blocks time.Time `dynamodbav:"blocks"` // windows that start from From to Blocks are also in Blocks
	Read   time.Time `dynamodbav:"read"`   // a time from Read to To without an item had no writes
	Ran    time.Time `dynamodbav:"ran"`    // the last run of the task
	Puts   uint64    `dynamodbav:"puts"`   // how often the progress was stored; a run ends if another run has stored it

	Window time.Duration `dynamodbav:"window"` // length of the detector's windows at Ran
	Hold   time.Duration `dynamodbav:"hold"`   // quiet windows are stored together after each Hold; 0 if each is stored alone
	Held   time.Duration `dynamodbav:"held"`   // the Hold of all runs so far; NeverHeld if they had none, MaxHold if it changed
}

// NeverHeld is the [Progress.Held] of a detector that stores each window alone.
const NeverHeld = time.Millisecond

const (
	// OnTime is the time after a window's end within which its items are normally put. A later one may be in [Late].
	OnTime = 5 * time.Second

	// heldTime is the time after the end of a Hold within which held windows are normally put, except those of idle
	// stream shards.
	heldTime = 15 * time.Second
)

// Complete returns the end of the newest complete window, given the windows since To. A stream shard that lags may still
// change windows that Complete counts as complete. A time without items counts as complete only up to the task's last run,
// since the detector may have stopped.
func (p *Progress) Complete(windows []Window, now time.Time) time.Time {
	length, last := p.Window, time.Time{}
	for _, w := range windows {
		for i := range w.Items {
			it := &w.Items[i]
			if base := it.baseLength(); length == 0 || base < length {
				length = base
			}
			last = MaxTime(last, it.End())
		}
	}
	if length == 0 {
		length = defaultWindow
	}
	seen := MaxTime(last, AlignDown(p.Ran, length))
	upTo := MinTime(AlignDown(now.Add(-OnTime), length), seen)
	if p.Hold > length {
		upTo = AlignDown(MinTime(upTo, now.Add(-heldTime)), p.Hold)
	}
	return MaxTime(p.To, upTo)
}

// HeldSince returns the earliest start of a stored item, perhaps of several windows, that can have a window at t.
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
	if err := readRecord(attributes, &s); err != nil {
		return Progress{}, fmt.Errorf("heat: item %q: %w", ProgressPartition, err)
	}
	return s.Progress, nil
}
