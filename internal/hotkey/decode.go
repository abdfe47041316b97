package hotkey

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/hotshard/hotshard/internal/ddbstream"
)

// write is what one record of a batch wrote.
type write struct {
	sequence []byte
	at       time.Time // when; zero if that is not known
	key      []byte    // the table's partition key
	units    int       // of the table's partition, local indexes included
	indexes  []ddbstream.IndexWrite
	err      error // it can't be counted
}

var errNoTime = errors.New("it has no creation time")

// decode takes a batch's records one by one. A write is good until the next one.
func decode(records []ddbstream.Record, source Source) iter.Seq[write] {
	return func(yield func(write) bool) {
		var room []ddbstream.IndexWrite
		for i := range records {
			w := write{sequence: records[i].Sequence, at: records[i].Created, indexes: room[:0]}
			w.err = w.read(&records[i], source)
			room = w.indexes
			if !yield(w) {
				return
			}
		}
	}
}

func (w *write) read(rec *ddbstream.Record, source Source) (err error) {
	if rec.Err != nil {
		return rec.Err
	}
	var ok bool
	if w.key, ok = rec.Keys.Key(source.PartitionKey); !ok || len(w.key) == 0 {
		return fmt.Errorf("hotkey: record %.60s: its keys have no %q", rec.Sequence, source.PartitionKey)
	}
	if rec.Created.IsZero() {
		return fmt.Errorf("hotkey: record %.60s: %w", rec.Sequence, errNoTime)
	}
	if w.units, err = rec.WriteUnits(); err != nil {
		return err
	}
	writes, err := rec.AppendIndexWrites(w.indexes, source.Indexes)
	if err != nil {
		return err
	}
	for _, x := range writes {
		if x.Index == "" { // a local index, in the table's own partition
			w.units += x.Units
		}
	}
	w.indexes = writes
	return nil
}
