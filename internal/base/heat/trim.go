package heat

import "slices"

// Bounds of a window's item. Keys of indexes have their own bounds: each of a board's periods has as many as the table.
const (
	MaxKeys       = 200
	MaxIndexKeys  = 400
	maxBytes      = 100_000 // of packed keys
	maxIndexBytes = 50_000
)

// cut bounds the keys that are kept: a number of the heaviest keys, and all keys above a rate, as long as they fit.
type cut struct {
	keys  int
	rate  float64 // WCU/s
	bytes int     // of the packed keys that are kept
}

// trimmed returns the item with only the heaviest keys of the table and of its indexes.
func (it Item) trimmed(table, indexes cut) Item {
	keys, left := it.trim(false, table)
	ofIndexes, leftOfIndexes := it.trim(true, indexes)
	for _, k := range left {
		it.Rest, it.TopRest = max(it.Rest, k.Units+k.Err), max(it.TopRest, k.TopMost)
	}
	for _, k := range leftOfIndexes {
		it.IndexRest, it.TopIndexRest = max(it.IndexRest, k.Units+k.Err), max(it.TopIndexRest, k.TopMost)
	}
	it.Keys = append(slices.Clip(keys), ofIndexes...)
	return it
}

// rest returns the most units that a key which the item does not list can have.
func (it *Item) rest(ofIndex bool) uint64 {
	if ofIndex {
		return it.IndexRest
	}
	return it.Rest
}

// trim returns the heaviest keys of the table or of its indexes, and the keys that are left out.
func (it *Item) trim(ofIndex bool, c cut) (keys, left []Key) {
	for _, k := range it.Keys {
		if k.Index != "" == ofIndex {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, compareWeights)
	size, numbers := 0, maxPackedNumbers
	if it.Base > 0 {
		numbers += maxPackedTop
	}
	for i, k := range keys {
		size += len(k.Index) + len(k.Key) + numbers
		tooLight := i >= c.keys && float64(k.weight()) < c.rate*it.baseLength().Seconds()
		if tooLight || size > c.bytes {
			return keys[:i], keys[i:]
		}
	}
	return keys, nil
}
