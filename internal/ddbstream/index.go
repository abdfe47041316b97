package ddbstream

import (
	"bytes"
	"slices"
)

// Index describes a global secondary index of the stream's table, as far as the
// cost of writes to it depends on it.
type Index struct {
	Name         string
	PartitionKey string
	SortKey      string   // "" for none
	All          bool     // it projects all attributes
	Include      []string // without All: what it projects beside the keys of table and index
}

// IndexWrite is one write to an index that a change of an item led to.
type IndexWrite struct {
	Index string // its name
	Key   []byte // the partition key in the index, as [Image.Key] returns it
	Units int    // write units, at least 1
}

// AppendIndexWrites adds to a list what the change cost these indexes of the table, in
// their order. The rules are those of
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.ThroughputConsiderations
//
//   - An item that lacks a key attribute of the index is not in it. One that comes
//     in, or goes, is one write.
//   - One whose key in the index changes is two: the old entry goes and the new
//     one comes, in the same partition or in another.
//   - One that stays, and of which a projected attribute changes, is one write.
//   - Each costs a unit for each started 1,024 B of the entry, which has the
//     projected attributes only; where it is replaced, of the larger one.
//
// A removal by TTL costs nothing. Where the stream's view type leaves out an image
// that a change of its kind has, nothing is known and nothing added. The error
// says which image can't be read and why.
func (r *Record) AppendIndexWrites(to []IndexWrite, indexes []Index) ([]IndexWrite, error) {
	if r.Expired || r.Name != Insert && !r.Old.Present() || r.Name != Remove && !r.New.Present() {
		return to, nil
	}
	for i := range indexes {
		x := &indexes[i]
		before, wasIn := x.entry(r.Old)
		after, isIn := x.entry(r.New)
		if !wasIn && !isIn {
			continue
		}
		var err error
		if to, err = r.appendIndexWrites(to, x, before, after); err != nil {
			return nil, recordError(r.Sequence, err)
		}
	}
	return to, nil
}

// appendIndexWrites does it for one index and the item's entries in it. One of the
// two may be missing.
func (r *Record) appendIndexWrites(to []IndexWrite, x *Index, before, after entry) ([]IndexWrite, error) {
	projected := x.projected(r.Keys)
	stays := before.equal(after)
	if stays && !x.All && before.same(after.Image, projected) { // with All the record itself tells of a change
		return to, nil
	}
	first := len(to)
	for _, e := range [...]entry{before, after} {
		if !e.Present() {
			continue
		}
		size, err := e.partSize(projected)
		if err != nil {
			return nil, err
		}
		to = append(to, IndexWrite{x.Name, e.key, unitsOf(size)})
	}
	if stays {
		to[first].Units = max(to[first].Units, to[first+1].Units)
		to = to[:first+1]
	}
	return to, nil
}

// entry is an item that is in an index; the zero entry is of one that is not.
type entry struct {
	Image
	key, sort []byte
}

// entry is false for an item that is not in the index.
func (x *Index) entry(i Image) (e entry, ok bool) {
	if e.key, ok = i.Key(x.PartitionKey); !ok || len(e.key) == 0 {
		return entry{}, false
	}
	if x.SortKey != "" {
		if e.sort, ok = i.Key(x.SortKey); !ok || len(e.sort) == 0 {
			return entry{}, false
		}
	}
	e.Image = i
	return e, true
}

// equal reports whether both are there and have the same key.
func (e *entry) equal(other entry) bool {
	return e.Present() && other.Present() && bytes.Equal(e.key, other.key) && bytes.Equal(e.sort, other.sort)
}

// projected lists the attributes that an entry has; nil for all.
func (x *Index) projected(keys Image) []string {
	if x.All {
		return nil
	}
	return slices.Concat(keys.attributes(), []string{x.PartitionKey, x.SortKey}, x.Include)
}

func (e *entry) same(other Image, attributes []string) bool {
	return !slices.ContainsFunc(attributes, func(attr string) bool { return !e.Same(other, attr) })
}
