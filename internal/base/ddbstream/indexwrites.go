package ddbstream

import (
	"bytes"

	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// IndexImage is an item before or after a write.
type IndexImage[I any] interface {
	// Present reports whether the item exists.
	Present() bool

	// Key returns the text of an attribute; ok is false if its type can't be a key's.
	Key(attribute string) (text []byte, ok bool)

	// SameIn reports whether all these attributes are the same in both images; nil stands for the whole item.
	SameIn(other I, attributes []string) bool

	// SizeIn returns the size of the item with only these attributes, in bytes; nil stands for all.
	SizeIn(attributes []string) (int, error)
}

// IndexWrite is one write to an index, caused by a write to the table.
type IndexWrite struct {
	Index string // the index's name
	Key   []byte // the partition key in the index, as [IndexKey] returns it
	Units int    // write units, at least 1
}

// IndexWrites are the index writes of one write to the table. The zero value is ready to use.
type IndexWrites struct {
	List   []IndexWrite
	buffer []byte // memory of keys of several attributes
}

// Reset removes all writes and keeps the memory for reuse.
func (w *IndexWrites) Reset() { w.List, w.buffer = w.List[:0], w.buffer[:0] }

// AddIndexWrites appends the writes to an index that are caused by replacing an item in the table, by the rules of
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.ThroughputConsiderations
//
//   - An item without a key attribute of the index is not in the index. Entering or leaving the index is one write.
//   - A change of the item's key in the index is two writes: a delete and a put, each by its own size.
//   - A change of a projected attribute is one write, by the larger of the old and the new entry.
//   - A write that changes no projected attribute costs nothing.
//   - A write costs a unit for each started 1,024 B of the projected attributes.
//
// It returns SizeIn's error if an image has no size.
func AddIndexWrites[I IndexImage[I]](w *IndexWrites, x *Index, before, after I) error {
	old, wasIn := entryOf(w, x, before)
	current, isIn := entryOf(w, x, after)
	keepsKey := wasIn && isIn && bytes.Equal(old.partition, current.partition) && bytes.Equal(old.sort, current.sort)
	if keepsKey && before.SameIn(after, x.Projected) {
		return nil
	}
	first := len(w.List)
	if wasIn {
		if err := addEntry(w, x, old, before); err != nil {
			return err
		}
	}
	if isIn {
		if err := addEntry(w, x, current, after); err != nil {
			return err
		}
	}
	if keepsKey { // both entries are one write
		w.List[first].Units = max(w.List[first].Units, w.List[first+1].Units)
		w.List = w.List[:first+1]
	}
	return nil
}

func addEntry[I IndexImage[I]](w *IndexWrites, x *Index, e entry, item I) error {
	size, err := item.SizeIn(x.Projected)
	if err != nil {
		return err
	}
	w.List = append(w.List, IndexWrite{Index: x.Name, Key: e.partition, Units: plan.WriteUnits(size)})
	return nil
}

// entry is an item's key in an index.
type entry struct{ partition, sort []byte }

// entryOf returns the item's entry in the index; ok is false if the item is not in it.
func entryOf[I IndexImage[I]](w *IndexWrites, x *Index, item I) (e entry, ok bool) {
	if !item.Present() {
		return e, false
	}
	if e.partition, ok = joinKey(w, x.Partition, item); !ok {
		return e, false
	}
	e.sort, ok = joinKey(w, x.Sort, item)
	return e, ok
}

// IndexKey returns the item's partition key in the index; ok is false if the item is not in it. A key of one attribute is the
// attribute's text. The texts of several attributes are joined by [KeySeparator], with a backslash before each backslash and
// separator in a text.
func IndexKey[I IndexImage[I]](x *Index, item I) (key []byte, ok bool) {
	e, ok := entryOf(new(IndexWrites), x, item)
	return e.partition, ok
}

// KeySeparator is between the attributes of a key.
const KeySeparator = '|'

// joinKey returns the text of a key of these attributes, "" for none; ok is false if the item lacks one of them.
func joinKey[I IndexImage[I]](w *IndexWrites, attributes []string, item I) (key []byte, ok bool) {
	start := len(w.buffer)
	for i, attribute := range attributes {
		text, ok := item.Key(attribute)
		if !ok || len(text) == 0 {
			return nil, false
		}
		if len(attributes) == 1 {
			return text, true
		}
		if i > 0 {
			w.buffer = append(w.buffer, KeySeparator)
		}
		for _, c := range text {
			if c == KeySeparator || c == '\\' {
				w.buffer = append(w.buffer, '\\')
			}
			w.buffer = append(w.buffer, c)
		}
	}
	return w.buffer[start:len(w.buffer):len(w.buffer)], true
}
