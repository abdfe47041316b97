package heat

import "slices"

// Bounds of a window's item. Keys of indexes have their own bounds: a board has such keys in each of its periods.
const (
	MaxKeys       = 200
	MaxIndexKeys  = 400
	maxBytes      = 100_000 // of packed keys
	maxIndexBytes = 50_000
)

// keyLimits selects the keys that are kept: a number of the heaviest, and all keys of a rate or more, as far as they fit.
type keyLimits struct {
	keys  int
	rate  float64 // WCU/s
	bytes int     // of the packed keys that are kept
}

// trimmed returns the item with only the heaviest keys of the table and of its indexes. Its rests bound the others.
func (it Item) trimmed(table, indexes keyLimits) Item {
	tableKeys, dropped := it.splitKeys(false, table)
	indexKeys, droppedOfIndexes := it.splitKeys(true, indexes)
	for _, k := range dropped {
		it.Rest, it.TopRest = max(it.Rest, k.Units+k.Err), max(it.TopRest, k.TopMost)
	}
	for _, k := range droppedOfIndexes {
		it.IndexRest, it.TopIndexRest = max(it.IndexRest, k.Units+k.Err), max(it.TopIndexRest, k.TopMost)
	}
	it.Keys = slices.Concat(tableKeys, indexKeys)
	return it
}

// rest returns the most units that a key which the item does not list can have.
func (it *Item) rest(ofIndex bool) uint64 {
	if ofIndex {
		return it.IndexRest
	}
	return it.Rest
}

// splitKeys returns the keys of the table or of its indexes, heaviest first: those within the limits, and the others.
func (it *Item) splitKeys(ofIndex bool, limits keyLimits) (kept, dropped []Key) {
	keys := slices.DeleteFunc(slices.Clone(it.Keys), func(k Key) bool { return (k.Index != "") != ofIndex })
	slices.SortFunc(keys, compareWeights)
	size, numbers := 0, maxPackedNumbers
	if it.Base > 0 {
		numbers += maxPackedTop
	}
	for i, k := range keys {
		size += len(k.Index) + len(k.Key) + numbers
		tooLight := i >= limits.keys && float64(k.weight()) < limits.rate*it.baseLength().Seconds()
		if tooLight || size > limits.bytes {
			return keys[:i], keys[i:]
		}
	}
	return keys, nil
}
