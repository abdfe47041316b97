package ddbstream

import (
	"strings"
	"time"
)

// Batch is one delivery: records in stream order and, where the event source
// mapping has a tumbling window, that window.
type Batch struct {
	Records   []Record
	SourceARN string // the stream's ARN; "" in an unwindowed batch without records

	Windowed        bool              // the fields below are set
	WindowStart     time.Time         // included
	WindowEnd       time.Time         // excluded; after WindowStart
	State           map[string]string // what the window's last answer carried; nil at its start
	ShardID         string            // the stream shard
	Final           bool              // the window's last delivery
	TerminatedEarly bool              // the window ends before its time and goes on with empty state

	Next string // of an answer of GetRecords: the iterator to go on with; "" at the stream shard's end
}

// TableName returns the table's name out of SourceARN, or "" if it has none.
func (b *Batch) TableName() string {
	_, rest, _ := strings.Cut(b.SourceARN, ":table/")
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// Name says what happened to the item.
type Name uint8

// The names. The zero Name belongs to a record that could not be read.
const (
	Insert Name = 1 + iota
	Modify
	Remove
)

var names = [...]string{Insert: "INSERT", Modify: "MODIFY", Remove: "REMOVE"}

// String returns the name as DynamoDB writes it, or "" for the zero Name.
func (n Name) String() string { return names[n] }

// Record is one change of one item.
type Record struct {
	Name     Name
	Sequence []byte    // decimal digits, more than fit in 64 bits; never empty; may be a part of the payload
	Created  time.Time // UTC, at AWS to the second; zero if the record does not say
	Expired  bool      // a removal by TTL, which costs no write units
	Keys     Image     // the item's key attributes
	New, Old Image     // absent where the change or the stream's view type has none

	// Err says what is wrong with a record whose envelope has a fault of its
	// own, such as an unknown event name. Only Sequence can then be relied on:
	// it is what Lambda wants reported as the batch item that failed.
	Err error
}

// writeUnit is how many bytes of an item one write unit pays for, from
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/capacity-mode.html
const writeUnit = 1024

// WriteUnits returns what the change cost the table: 1 for each started 1,024 B
// of the larger of the old and the new item, at least 1, and 0 for a removal by
// TTL. Where the stream's view type leaves an image out the result is a lower
// bound; with KEYS_ONLY it is 1. The error says which image can't be read and
// why. Writes to indexes are not in it: see [Record.AppendIndexWrites].
func (r *Record) WriteUnits() (int, error) {
	if r.Expired {
		return 0, nil
	}
	before, err := r.Old.Size()
	if err != nil {
		return 0, recordError(r.Sequence, err)
	}
	after, err := r.New.Size()
	if err != nil {
		return 0, recordError(r.Sequence, err)
	}
	return unitsOf(max(before, after)), nil
}

// unitsOf is what writing so many bytes costs.
func unitsOf(size int) int { return max(1, (size+writeUnit-1)/writeUnit) }
