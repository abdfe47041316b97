package heat

import (
	"maps"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
)

// Bounds of the keys in a window's state, as [ddbstream.SketchLimits] counts them, for the table and for its indexes.
// Lambda allows a state of 1 MB, and base64 makes four bytes of three.
const (
	maxKeyBytes      = 550_000
	maxIndexKeyBytes = 200_000
)

// WindowCounter counts the writes of a time on one stream shard.
type WindowCounter struct {
	Start   time.Time // UTC
	Length  time.Duration
	Records uint64 // counted records

	// Incomplete means that records may be missing from the counts.
	Incomplete bool

	first   string            // sequence number of the first record, counted or not; "" before it
	last    string            // sequence number of the last record of earlier deliveries; "" before them
	table   *ddbstream.Sketch // write units by partition key of the table
	indexes *ddbstream.Sketch // by index and its partition key, with a NUL between
	text    []byte            // buffer for such a key

	indexUnits map[string]uint64 // write units by index
}

// NewWindowCounter returns a window that counts up to topK keys of the table separately, and as many of its indexes.
func NewWindowCounter(start time.Time, length time.Duration, topK int) *WindowCounter {
	return &WindowCounter{Start: start.UTC(), Length: length, table: ddbstream.NewSketch(tableLimits(topK)), indexes: ddbstream.NewSketch(indexLimits(topK)), indexUnits: make(map[string]uint64)}
}

func tableLimits(topK int) ddbstream.SketchLimits {
	return ddbstream.SketchLimits{Entries: topK, Bytes: maxKeyBytes}
}

func indexLimits(topK int) ddbstream.SketchLimits {
	return ddbstream.SketchLimits{Entries: topK, Bytes: maxIndexKeyBytes}
}

// First returns the sequence number of the first record, counted or not; "" if there was no record.
func (w *WindowCounter) First() string { return w.first }

// Delivered sets the sequence number of a delivery's last record.
func (w *WindowCounter) Delivered(last string) { w.last = last }

// Units returns the write units of the table, and those of its indexes.
func (w *WindowCounter) Units() (table, indexes uint64) { return w.table.Total(), w.indexes.Total() }

// Follows reports whether a record is newer than all earlier deliveries. Sequence numbers of a stream shard rise, and
// have either no leading zeros or all the same length.
func (w *WindowCounter) Follows(sequence []byte) bool {
	return len(sequence) > len(w.last) || len(sequence) == len(w.last) && string(sequence) > w.last
}

// Add counts a write that has no error.
func (w *WindowCounter) Add(write *Write) {
	if w.first == "" {
		w.first = string(write.Sequence)
	}
	w.Records++
	second := write.At.Unix()
	w.table.Add(write.Key, uint64(write.Units), second)
	w.addIndexes(write.Indexes, second)
}

// addIndexes counts write units by index and key. Local indexes, which have no name, count as writes to the table.
func (w *WindowCounter) addIndexes(writes []ddbstream.IndexWrite, second int64) {
	for _, x := range writes {
		if x.Index != "" {
			cost := uint64(x.Units)
			w.text = append(append(append(w.text[:0], x.Index...), 0), x.Key...) // no index has a NUL in its name
			w.indexes.Add(w.text, cost, second)
			w.indexUnits[x.Index] += cost
		}
	}
}

// Miss marks the window as incomplete, since the record with this sequence number can't be counted.
func (w *WindowCounter) Miss(sequence string) {
	w.Incomplete = true
	if w.first == "" {
		w.first = sequence
	}
}

// Item returns the window's counts, to be stored. A partition takes limit WCU/s, and a key is hot at hotRate WCU/s.
// streamShard and part identify the item among those of its window.
func (w *WindowCounter) Item(streamShard, part string, limit, hotRate float64) Item {
	it := Item{
		Start: w.Start, Window: w.Length, StreamShard: streamShard, Part: part,
		Records: w.Records, Units: w.table.Total(), Incomplete: w.Incomplete,
		Limit: limit, HotRate: hotRate,
	}
	if len(w.indexUnits) > 0 {
		it.IndexUnits = maps.Clone(w.indexUnits)
	}
	it.Rest = addKeys(&it, w.table, false, MaxKeys)
	it.IndexRest = addKeys(&it, w.indexes, true, MaxIndexKeys)
	return it
}

// addKeys adds a sketch's heaviest keys, at most maxKeys, to an item. It returns an upper bound of the units of an unlisted
// key.
func addKeys(it *Item, sketch *ddbstream.Sketch, ofIndex bool, maxKeys int) (rest uint64) {
	rest = sketch.Floor()
	for i, e := range sketch.Entries() {
		if i >= maxKeys {
			rest = max(rest, e.Count)
			continue
		}
		index, key := "", e.Key
		if ofIndex {
			index, key, _ = strings.Cut(e.Key, "\x00")
		}
		it.Keys = append(it.Keys, Key{
			Index: index, Key: key, Units: e.Low(), Err: e.Err, Writes: e.Adds, Peak: e.Peak, PeakAt: time.Unix(e.PeakSecond, 0).UTC(),
		})
	}
	return rest
}
