// Package heat defines the items of the heat table, where they are stored, and how they are merged: into rows, minutes,
// blocks and maps. A [WindowCounter] counts the writes of a window, from the records of a stream. Only a [WindowReader]
// does input: it reads stored windows.
//
// The detector puts an item for each window and stream shard:
//
//	put(item.Stored(item.End().Add(retention)))
//
// Readers merge them into rows:
//
//	rows := heat.Merge(items) // one for each partition key, hottest first
//
// Quiet windows of a stream shard are stored together: see [StoredHeld].
//
// Items are folded over all stream shards, into minutes and ten minutes: see [Series]. Merging the far fewer folded
// items has the same result.
package heat

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
)

// Item has the counts of one window on one stream shard. Units are write units.
type Item struct {
	// Table is the table whose stream was read, or "" for hotshard's own tables. Only keys of hotshard's tables are
	// parsed as write shards.
	Table string

	// Own is the hotshard table whose stream was read; "" with a Table. It distinguishes only folded items.
	Own schema.StreamTable

	Start  time.Time     // whole milliseconds, UTC
	Window time.Duration // length; whole milliseconds, more than 0

	// Base is the length of the windows that were folded into the item, or 0 for the counts of one window. No two folded
	// items of a table with the same base overlap in time.
	Base time.Duration

	// StreamShard and Part identify the item among those of its window. StreamShard is unique among all streams, as
	// [ddbstream.Batch.StreamShard] is. Part is the sequence number of the item's first record. The sum of a window's parts
	// are its counts. An item that is put again replaces the first one.
	StreamShard, Part string

	// Last is the last sequence number of the batch if the item has the records of a single batch; else "". If only
	// some of them are redelivered, the Part of their item is at most Last.
	Last string

	Records uint64 // of listed and unlisted keys
	Units   uint64 // write units of all records in the table
	// IndexUnits has the units of each index, by its name. An index without units is absent.
	IndexUnits map[string]uint64
	Limit      float64 // a partition's limit in WCU/s; above 0, stored to hundredths
	HotRate    float64 // certified WCU/s at which a key is hot; stored to hundredths

	// Keys are the heaviest keys by certified units: the table's partition keys, then those of its indexes. Rest is the
	// most units that an unlisted key of the table can have, IndexRest that of an index.
	Keys      []Key
	Rest      uint64
	IndexRest uint64

	// TopRest and TopIndexRest are set in a folded item. They are the most units that an unlisted key can have in one
	// base window.
	TopRest, TopIndexRest uint64

	// Incomplete means that counts may lack records.
	Incomplete bool

	// Coverage is the share of the window's records that was read: above 0, below 1. 0 means all. It is not stored,
	// since the detector reads all records.
	Coverage float64
}

// Key has the counts of one partition key in the window.
type Key struct {
	Index  string // the index of the partition key; "" for the table itself
	Key    string
	Units  uint64    // a lower bound
	Err    uint64    // the true number is at most Units + Err
	Writes uint64    // the number of writes; 0 if unknown
	Peak   uint64    // units in the heaviest second, a lower bound
	PeakAt time.Time // that second

	// Top, TopErr and TopAt are set in a folded item. They are the lower bound of the units in the key's heaviest base
	// window, the error of that bound, and the window's start.
	Top, TopErr uint64
	TopAt       time.Time

	// TopMost is set in a folded item. It is the upper bound of the units in any base window in which the key is listed.
	TopMost uint64
}

// Window has the items of all windows that start at one time: the items of all stream shards, or folded ones.
type Window struct {
	Start time.Time
	Items []Item

	// Unreadable has an error for each item that can't be read, because another release wrote it ([ErrVersion]) or
	// because it is damaged. The errors name the sort keys. An item whose sort key has no time is in a Window that starts
	// at the end of the time that was read.
	Unreadable []error

	Length time.Duration // of the minute or block that is unreadable or lacks windows; 0 if there is none
}

// Unread returns the share of the window's items that can't be read.
func (w *Window) Unread() float64 {
	return float64(len(w.Unreadable)) / float64(max(1, len(w.Unreadable)+len(w.Items)))
}

// Source reads windows of heat, from a deployment's heat table or from a live stream.
type Source interface {
	// Windows iterates over the windows that start at from or later and before to, in order of time. Their length is at
	// most step if the source has such windows, else the shortest that it has. No two overlap. It ends after an error.
	Windows(ctx context.Context, from, to time.Time, step time.Duration) iter.Seq2[Window, error]
}

// Status is the detector's verdict on a key. A greater one is worse.
type Status uint8

// The verdicts.
const (
	Normal    Status = iota // below the threshold
	Hot                     // its certified rate has reached the threshold
	Saturated               // its certified rate is at a partition's limit, so demand may be higher
)

// saturatedShare is the share of a partition's limit at which a key is saturated. Windows are cut by whole seconds, so a full
// partition may show slightly less than its limit.
const saturatedShare = 0.95

// Verdict returns the status of a key by its certified rate, a partition's limit and the threshold hotRate, in WCU/s.
func Verdict(rate, limit, hotRate float64) Status {
	switch {
	case rate >= saturatedShare*limit && rate >= hotRate:
		return Saturated
	case rate >= hotRate:
		return Hot
	}
	return Normal
}

var statuses = []string{"normal", "hot", "saturated"}

// String returns the status's name in the API.
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
		return fmt.Errorf("heat: status %.20q is not known: want normal, hot or saturated", text)
	}
	*s = Status(at)
	return nil
}

// End returns the end of the window.
func (it *Item) End() time.Time { return it.Start.Add(it.Window) }

// AlignDown returns t rounded down to a multiple of length since the Unix epoch. length is at least a millisecond.
func AlignDown(t time.Time, length time.Duration) time.Time {
	return time.UnixMilli(t.UnixMilli() - t.UnixMilli()%length.Milliseconds()).UTC()
}

// MinTime returns the earlier of two times.
func MinTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// MaxTime returns the later of two times.
func MaxTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// baseLength returns the length of the windows over which rates are calculated.
func (it *Item) baseLength() time.Duration {
	if it.Base > 0 {
		return it.Base
	}
	return it.Window
}

// Salts and lateSalts are the numbers of partition keys of an hour's items, prompt and late. A stream shard writes to one
// partition key: up to 310 write units in each window, and normally a few.
const (
	Salts     = 8
	lateSalts = 2
)

// key returns the primary key of a window's item: "<time>#<stream shard>#<part>" under a partition key of [Prompt].
func (it *Item) key() (pk, sk string) {
	return Prompt.partition(it), it.Start.UTC().Format(schema.TimeLayout) + "#" + it.StreamShard + "#" + it.Part
}

// SortBound returns a text that sorts before the sort keys of the windows that start at t or later, and after the sort keys
// of earlier windows.
func SortBound(t time.Time) string { return schema.CeilMilli(t).Format(schema.TimeLayout) }
