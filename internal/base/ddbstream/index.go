package ddbstream

import (
	"bytes"
	"slices"

	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// Index describes a global secondary index of the stream's table: the settings that determine
// what writes to it cost.
type Index struct {
	Name         string
	PartitionKey string
	SortKey      string   // "" if it has none
	All          bool     // the projection is ALL
	Include      []string // if All is false: the projected attributes that are not keys
}

// IndexWrite is one write to an index, caused by a change of an item.
type IndexWrite struct {
	Index string // the index's name
	Key   []byte // the partition key in the index, as [Image.Key] returns it
	Units int    // write units, at least 1
}

// AppendIndexWrites appends the writes that the change caused in these indexes, in the order of
// indexes. The rules are those of
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.ThroughputConsiderations
//
//   - An item without a key attribute of the index is not in the index. Entering or leaving
//     the index is one write.
//   - A change of the item's key in the index is two writes: a delete and a put.
//   - A change of a projected attribute is one write.
//   - A write costs a unit for each started 1,024 B of the projected attributes. An update
//     costs the larger of the old and the new entry.
//
// A removal by TTL costs nothing. Nothing is appended if the stream's view type leaves out an
// image of the change. The error names the image that can't be read.
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

// appendIndexWrites appends the writes of one index. Either entry may be absent.
func (r *Record) appendIndexWrites(to []IndexWrite, x *Index, before, after entry) ([]IndexWrite, error) {
	projected := x.projected(r.Keys)
	stays := before.equal(after)
	if stays && !x.All && before.same(after.Image, projected) { // with All the record itself is a change
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
		to = append(to, IndexWrite{x.Name, e.key, plan.WriteUnits(size)})
	}
	if stays {
		to[first].Units = max(to[first].Units, to[first+1].Units)
		to = to[:first+1]
	}
	return to, nil
}

// entry is an item in an index; the zero entry is absent from it.
type entry struct {
	Image
	key, sort []byte
}

// entry returns the item's entry in the index; ok is false if the item is not in it.
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

// equal reports whether both entries are present and have the same key.
func (e *entry) equal(other entry) bool {
	return e.Present() && other.Present() && bytes.Equal(e.key, other.key) && bytes.Equal(e.sort, other.sort)
}

// projected returns the names of the projected attributes, or nil for all.
func (x *Index) projected(keys Image) []string {
	if x.All {
		return nil
	}
	return slices.Concat(keys.attributes(), []string{x.PartitionKey, x.SortKey}, x.Include)
}

func (e *entry) same(other Image, attributes []string) bool {
	return !slices.ContainsFunc(attributes, func(attr string) bool { return !e.Same(other, attr) })
}
