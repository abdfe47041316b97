// Package heat is the memory of the hot-key detector: how one window of one
// stream shard is stored in the heat table, where that is found, and what
// many windows say together. It does no input or output.
//
// The detector puts an item a window and stream shard:
//
//	put(item.Stored(item.End().Add(retention)))
//
// A reader of the time from..to (starts of windows; from included, to not)
// queries each of a fixed number of partitions for each hour, and merges:
//
//	low, high := heat.SortBounds(from, to)
//	for _, pk := range heat.Partitions(from, to, false) {
//		for _, attributes := range query(pk, low, high) { // sk BETWEEN low AND high
//			item, err := heat.Parse(attributes)
//			items = append(items, item)
//		}
//	}
//	rows := heat.Merge(items) // one for each partition key, hottest first
//
// Quiet windows of a stream shard are stored together: see [StoredHeld].
//
// Items are folded over all stream shards, a minute and ten: see [Layer]. Folded items
// merge to the same, and there are far fewer.
package heat

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// Item is what was counted in one window on one stream shard. Units are write
// units.
type Item struct {
	// Table is the table whose stream was read, or "" for one of hotshard's own, whose keys tell by
	// their kind which one. Keys of another table are not parsed as write shards.
	Table string

	// Own is the table of hotshard's own whose stream was read, "" with a Table. Only folded items of one are told apart
	// by it.
	Own kind.Table

	Start  time.Time     // whole milliseconds, UTC
	Window time.Duration // length; whole milliseconds, more than 0

	// Base is 0 for a window's own counts. For a folded item it is the length of the windows
	// that were put together: there is no other item of the table with the same base then
	// whose time overlaps.
	Base time.Duration

	// StreamShard and Part identify the item among those of its window. StreamShard is unique among
	// all streams, as [ddbstream.Batch.StreamShard] is. Part is empty unless a window was counted in
	// several parts, which sum up to the window. An item that is put again replaces itself.
	StreamShard string
	Part        string

	Records uint64 // all of them, listed keys or not
	Units   uint64 // likewise, what they cost the table
	// IndexUnits has the units of each index, by its name. An index without units is absent.
	IndexUnits map[string]uint64
	Limit      float64 // units a second that a partition takes; above 0, kept to hundredths
	HotRate    float64 // certified units a second from which on a key was hot; kept to hundredths

	// Keys are the heaviest, by certified units, each once: the table's partition keys,
	// then those of its indexes. Rest is the most that a key of the table's that is not
	// among them can weigh, IndexRest one of an index.
	Keys      []Key
	Rest      uint64
	IndexRest uint64

	// Incomplete says that records of the window may not have been counted.
	Incomplete bool

	// Lag is how long after the window's end the item was put.
	Lag time.Duration

	// Coverage is the share of the window's records that was read, if it was not all of
	// them: above 0, below 1. 0 stands for all. It is not stored: the detector reads all.
	Coverage float64
}

// Key is what one partition key got in the window.
type Key struct {
	Index  string // whose partition key it is; "" for the table itself
	Key    string
	Units  uint64    // certain: it got at least these
	Err    uint64    // and at most so many more
	Writes uint64    // in how many writes; 0 if that is not known
	Peak   uint64    // units in the heaviest second, a lower bound
	PeakAt time.Time // that second

	// Of a folded item: certain units in the key's heaviest base window, how many more it
	// may have had in it, and that window's start.
	Top, TopErr uint64
	TopAt       time.Time
}

// Window is all that is known of the windows that start at one time: items of their own, of
// all stream shards, or those of a layer.
type Window struct {
	Start time.Time
	Items []Item

	// Unreadable are errors of items that can't be read, of another release ([ErrVersion]) or
	// damaged; they name the sort keys. Where a sort key doesn't tell the start, the item comes
	// alone, Start is the end of the time that is read, and its error is not ErrVersion.
	Unreadable []error

	Length time.Duration // of a layer's windows; 0 if items alone tell
}

// Damaged returns the error of an item that is damaged, nil if all others are of another release.
func (w *Window) Damaged() error {
	at := slices.IndexFunc(w.Unreadable, func(err error) bool { return !errors.Is(err, ErrVersion) })
	if at < 0 {
		return nil
	}
	return w.Unreadable[at]
}

// Unread returns the share of the window's items that can't be read.
func (w *Window) Unread() float64 {
	return float64(len(w.Unreadable)) / float64(max(1, len(w.Unreadable)+len(w.Items)))
}

// Source is where heat comes from: the heat table of a deployment, or a live reader of a
// stream.
type Source interface {
	// Windows goes through the windows that start at from or later and before to, in order
	// of time. Their length is at most step where the source has such, else the finest that
	// it has. No two overlap. After an error there is no more.
	Windows(ctx context.Context, from, to time.Time, step time.Duration) iter.Seq2[Window, error]
}

// Status is the detector's verdict on a key. A greater one is worse.
type Status uint8

// The verdicts.
const (
	Warm      Status = iota // among the heaviest, and not hot
	Hot                     // its certified rate has reached the threshold
	Saturated               // its certified rate is at a partition's limit, so more may be wanted
)

// atLimit is the part of a partition's limit from which on a key is saturated: windows
// are cut by whole seconds, so a bit less may be seen of a partition that takes no more.
const atLimit = 0.95

// Verdict is that on a key with a certified rate, where a partition takes limit and keys are
// hot from hotRate on, all in write units a second.
func Verdict(rate, limit, hotRate float64) Status {
	switch {
	case rate >= atLimit*limit && rate >= hotRate:
		return Saturated
	case rate >= hotRate:
		return Hot
	}
	return Warm
}

var statuses = []string{"warm", "hot", "saturated"}

// String returns the status as callers see it.
func (s Status) String() string {
	if int(s) < len(statuses) {
		return statuses[s]
	}
	return fmt.Sprintf("status %d", uint8(s))
}

// MarshalText implements [encoding.TextMarshaler].
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Status) UnmarshalText(text []byte) error {
	at := slices.Index(statuses, string(text))
	if at < 0 {
		return fmt.Errorf("heat: status %.20q is not known", text)
	}
	*s = Status(at)
	return nil
}

// End returns the end of the window.
func (it *Item) End() time.Time { return it.Start.Add(it.Window) }

// base returns the length of the windows that rates are taken over.
func (it *Item) base() time.Duration {
	if it.Base > 0 {
		return it.Base
	}
	return it.Window
}

// Salts is over how many partitions an hour's items are spread. One stream shard
// writes to one of them: up to 310 write units each window, a few as a rule.
const Salts = 8

// prefix begins the partition keys of windows' items.
const prefix = "K#"

func partition(prefix, hour string, salt int) string { return shard.Hash.Join(prefix+hour, salt) }

// key returns the primary key of a window's item. It depends on the table, the window's
// start, the stream shard and the part alone.
func (it *Item) key() (pk, sk string) {
	source := it.source()
	pk = partition(prefix, shard.Hour.Label(it.Start, 0), shard.Calculated(source, Salts))
	return pk, it.Start.UTC().Format(schema.TimeLayout) + "#" + source
}

// source identifies the item among those of its window.
func (it *Item) source() string { return it.StreamShard + "#" + it.Part }

// Partitions returns the partition keys that hold the items of the windows that start at from or later and before to:
// for each hour begun [Salts] with windows that were stored alone, and if held is set as many with windows that were
// stored together. It is empty when to is not after from. Bounding the range is the caller's part.
func Partitions(from, to time.Time, held bool) (list []string) {
	for _, hour := range shard.Hour.Labels(from, to, 0) {
		for salt := range Salts {
			list = append(list, partition(prefix, hour, salt))
		}
		for salt := 0; held && salt < Salts; salt++ {
			list = append(list, partition(heldPrefix, hour, salt))
		}
	}
	return list
}

// SortBounds returns the sort keys between which, in each of these partitions,
// just those windows lie that start at from or later and before to.
func SortBounds(from, to time.Time) (low, high string) {
	return bound(from), bound(to)
}

// bound is less than the sort key of every window that starts at t or later, and
// greater than that of every earlier one: those have more text after the time.
func bound(t time.Time) string { return schema.CeilMilli(t).Format(schema.TimeLayout) }

// Bounds of a window's item. Keys of indexes have bounds of their own, since they are
// as many for each of a board's periods.
const (
	MaxKeys       = 200
	MaxIndexKeys  = 400
	maxBytes      = 100_000 // of packed keys
	maxIndexBytes = 50_000
)

// cut says which of the heaviest keys are kept: so many, and besides all that took so
// many units a second, as far as they fit.
type cut struct {
	keys  int
	rate  float64
	bytes int
}

// trimmed is the item with the heaviest keys of the table, and of its indexes, alone.
func (it Item) trimmed(table, indexes cut) Item {
	keys, rest := it.trim(false, table)
	ofIndexes, indexRest := it.trim(true, indexes)
	it.Keys, it.Rest, it.IndexRest = append(keys, ofIndexes...), rest, indexRest
	return it
}

// rest is the most that a key that is not listed can weigh.
func (it *Item) rest(ofIndex bool) uint64 {
	if ofIndex {
		return it.IndexRest
	}
	return it.Rest
}

// trim keeps the heaviest keys, and accounts for the others in rest: those of the
// table, or those of its indexes.
func (it *Item) trim(ofIndex bool, c cut) (keys []Key, rest uint64) {
	for _, k := range it.Keys {
		if k.Index != "" == ofIndex {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, byWeight)
	rest = it.rest(ofIndex)
	size, numbers := 0, maxPackedNumbers
	if it.Base > 0 {
		numbers += maxPackedTop
	}
	for i, k := range keys {
		size += len(k.Index) + len(k.Key) + numbers
		if i >= c.keys && float64(k.weight()) < c.rate*it.base().Seconds() || size > c.bytes {
			for _, left := range keys[i:] {
				rest = max(rest, left.Units+left.Err)
			}
			return keys[:i], rest
		}
	}
	return keys, rest
}
