package heat

import (
	"fmt"
	"iter"
	"time"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
)

// Write is the write that one stream record describes.
type Write struct {
	Sequence []byte
	At       time.Time // zero if the record has no time
	Key      []byte    // the table's partition key, as [ddbstream.Image.Key] returns it
	Units    int       // of the table's partition, local indexes included
	Indexes  []ddbstream.IndexWrite
	Err      error // set if the write can't be counted
}

// DecodeWrites iterates over the writes of records, in order. A write is valid until the next one.
func DecodeWrites(records []ddbstream.Record, source CountedTable) iter.Seq[Write] {
	return func(yield func(Write) bool) {
		var writes ddbstream.IndexWrites
		for i := range records {
			w := Write{Sequence: records[i].Sequence, At: records[i].Created}
			writes.Reset()
			w.Err = w.readRecord(&records[i], source, &writes)
			if !yield(w) {
				return
			}
		}
	}
}

// readRecord sets the key, the units and the index writes. It returns an error if the record can't be counted.
func (w *Write) readRecord(rec *ddbstream.Record, source CountedTable, writes *ddbstream.IndexWrites) (err error) {
	if rec.Err != nil {
		return rec.Err
	}
	var ok bool
	if w.Key, ok = rec.Keys.Key(source.PartitionKey); !ok && source.Unnamed {
		w.Key, ok = rec.Keys.Key(rec.Keys.SoleName())
	}
	if !ok || len(w.Key) == 0 {
		return fmt.Errorf("heat: stream record %.60s: its keys lack the partition key %q of table %s", rec.Sequence, source.PartitionKey, source.Table)
	}
	if w.Units, err = rec.WriteUnits(); err != nil {
		return err
	}
	if err = rec.IndexWrites(writes, source.Indexes); err != nil {
		return err
	}
	w.Indexes = writes.List
	for _, x := range w.Indexes {
		if x.Index == "" { // a local index, in the table's own partition
			w.Units += x.Units
		}
	}
	return nil
}
