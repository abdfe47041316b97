package ddbstream

import (
	"fmt"
	"strings"
	"time"

	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// Batch is one delivery: records in stream order and the tumbling window, if the event source
// mapping has one.
type Batch struct {
	Records   []Record
	SourceARN string // the stream's ARN; "" in an unwindowed batch without records

	Windowed        bool              // the fields below are set
	WindowStart     time.Time         // included
	WindowEnd       time.Time         // excluded; after WindowStart
	State           map[string]string // the state that the window's last response returned; nil at its start
	ShardID         string            // the stream shard
	Final           bool              // the window's last delivery
	TerminatedEarly bool              // the window ended early and continues with empty state

	Next string // the next iterator, in a response of GetRecords; "" at the stream shard's end
}

// TableName returns the name of the table in SourceARN, or "" if it has none.
func (b *Batch) TableName() string { return TableName(b.SourceARN) }

// TableName returns the name of the table in a stream's ARN, or "" if it has none.
func TableName(streamARN string) string {
	_, rest, _ := strings.Cut(streamARN, ":table/")
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// StreamShard returns "<table>/<stream shard's id>", since ids of stream shards are unique in their stream only. Without a
// tumbling window the batch has no id. Then "<table>/" stands for all stream shards of the table.
func (b *Batch) StreamShard() string { return b.TableName() + "/" + b.ShardID }

// Name is the eventName of a record: the kind of its change.
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
	Created  time.Time // UTC, at AWS to the second; zero if the record has none
	Expired  bool      // a removal by TTL, which costs no write units
	Keys     Image     // the item's key attributes
	New, Old Image     // absent if the change or the stream's view type has none
	Raw      []byte    // the record's JSON, a part of the payload

	// Err is the fault of a record whose envelope can't be read, such as an unknown event name. Then only Sequence is
	// valid. If the record failed, the response to Lambda must have Sequence: see [Answer].
	Err error
}

// WriteUnits returns the write units that the change cost the table: 1 for each started 1,024 B of the larger of the old and
// the new item, at least 1, and 0 for a removal by TTL. If the stream's view type leaves an image out, the result is a lower
// bound; with KEYS_ONLY it is 1. Writes to indexes are not included: see [Record.IndexWrites]. The error says which image
// can't be read and why.
func (r *Record) WriteUnits() (int, error) {
	if r.Expired {
		return 0, nil
	}
	before, err := r.Old.Size()
	if err != nil {
		return 0, recordError(r.Sequence, fmt.Errorf("old image: %w", err))
	}
	after, err := r.New.Size()
	if err != nil {
		return 0, recordError(r.Sequence, fmt.Errorf("new image: %w", err))
	}
	return plan.WriteUnits(max(before, after)), nil
}

// IndexWrites appends the writes that the change caused in these indexes, in their order, to a list. It appends nothing
// for a deletion by TTL, which costs nothing, or if the stream's view type leaves out an image of the change. The error
// names the image that can't be read.
func (r *Record) IndexWrites(to *IndexWrites, indexes []Index) error {
	lacksOld := r.Name != Insert && !r.Old.Present()
	lacksNew := r.Name != Remove && !r.New.Present()
	if r.Expired || lacksOld || lacksNew {
		return nil
	}
	for i := range indexes {
		if err := AddIndexWrites(to, &indexes[i], r.Old, r.New); err != nil {
			return recordError(r.Sequence, err)
		}
	}
	return nil
}
