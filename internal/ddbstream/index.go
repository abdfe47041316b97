package ddbstream

import "slices"

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
	Key   string // the partition key in the index, as [Image.Key] returns it
	Units int    // write units, at least 1
}

// IndexWrites returns what the change cost these indexes of the table, in their
// order. The rules are those of
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
// that a change of its kind has, nothing is known and nothing returned. The error
// says which image can't be read and why.
func (r *Record) IndexWrites(indexes []Index) ([]IndexWrite, error) {
	if r.Expired || r.Name != Insert && !r.Old.Present() || r.Name != Remove && !r.New.Present() {
		return nil, nil
	}
	var writes []IndexWrite
	for i := range indexes {
		more, err := r.indexWrites(&indexes[i])
		if err != nil {
			return nil, recordError(r.Sequence, err)
		}
		writes = append(writes, more...)
	}
	return writes, nil
}

func (r *Record) indexWrites(x *Index) ([]IndexWrite, error) {
	before, after := x.entry(r.Old), x.entry(r.New)
	if before == nil && after == nil {
		return nil, nil
	}
	projected := x.projected(r.Keys)
	stays := before != nil && after != nil && before.key == after.key
	if stays && !x.All && before.same(after.Image, projected) { // with All the record itself tells of a change
		return nil, nil
	}
	var writes []IndexWrite
	for _, e := range []*entry{before, after} {
		if e == nil {
			continue
		}
		size, err := e.partSize(projected)
		if err != nil {
			return nil, err
		}
		writes = append(writes, IndexWrite{x.Name, e.key[0], unitsOf(size)})
	}
	if stays {
		writes[0].Units = max(writes[0].Units, writes[1].Units)
		writes = writes[:1]
	}
	return writes, nil
}

// entry is an item that is in an index.
type entry struct {
	Image
	key [2]string // partition and sort key
}

// entry returns nil for an item that is not in the index.
func (x *Index) entry(i Image) *entry {
	if !i.mayHave(x.PartitionKey) {
		return nil
	}
	e := entry{Image: i}
	for n, attr := range []string{x.PartitionKey, x.SortKey} {
		if attr == "" {
			continue
		}
		value, ok := i.Key(attr)
		if !ok || value == "" {
			return nil
		}
		e.key[n] = value
	}
	return &e
}

// projected lists the attributes that an entry has; nil for all.
func (x *Index) projected(keys Image) []string {
	if x.All {
		return nil
	}
	return slices.Concat(keys.names(), []string{x.PartitionKey, x.SortKey}, x.Include)
}

func (e *entry) same(other Image, attributes []string) bool {
	return !slices.ContainsFunc(attributes, func(attr string) bool { return !e.Same(other, attr) })
}
