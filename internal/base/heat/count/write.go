package count

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
)

// Write is the write that one stream record describes.
type Write struct {
	Sequence []byte
	At       time.Time // zero if unknown
	Key      []byte    // the table's partition key, as [ddbstream.Image.Key] returns it
	Units    int       // of the table's partition, local indexes included
	Indexes  []ddbstream.IndexWrite
	Err      error // set if the write can't be counted
}

var errNoTime = errors.New("it has no creation time")

// Decode iterates over the writes of records, in order. A write is valid until the next one.
func Decode(records []ddbstream.Record, source Source) iter.Seq[Write] {
	return func(yield func(Write) bool) {
		var room []ddbstream.IndexWrite
		for i := range records {
			w := Write{Sequence: records[i].Sequence, At: records[i].Created, Indexes: room[:0]}
			w.Err = w.read(&records[i], source)
			room = w.Indexes
			if !yield(w) {
				return
			}
		}
	}
}

func (w *Write) read(rec *ddbstream.Record, source Source) (err error) {
	if rec.Err != nil {
		return rec.Err
	}
	var ok bool
	if w.Key, ok = rec.Keys.Key(source.PartitionKey); !ok || len(w.Key) == 0 {
		return fmt.Errorf("count: record %.60s: its keys have no %q", rec.Sequence, source.PartitionKey)
	}
	if rec.Created.IsZero() {
		return fmt.Errorf("count: record %.60s: %w", rec.Sequence, errNoTime)
	}
	if w.Units, err = rec.WriteUnits(); err != nil {
		return err
	}
	writes, err := rec.AppendIndexWrites(w.Indexes, source.Indexes)
	if err != nil {
		return err
	}
	for _, x := range writes {
		if x.Index == "" { // a local index, in the table's own partition
			w.Units += x.Units
		}
	}
	w.Indexes = writes
	return nil
}
