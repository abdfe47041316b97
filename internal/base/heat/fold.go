package heat

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Fold merges one table's items, of all stream shards, into one item for the time from start to start+length. Their
// windows start in this time and have the same length; folded items have the same base. foldGroups makes such groups.
//
// The folded item's units are the sums over the windows. A key's error includes the units that may be hidden in windows
// without the key. The limit and the hot rate are the lowest. [Merge] of folded items gives the same rates, errors and
// peaks as Merge of the items themselves, and the same statuses if all items have one limit and one hot rate. FirstSeen and
// LastSeen are the starts and ends of folded items. Siblings are lost if the item has several windows.
//
// Folding folded items gives the same item as folding all original items at once. Stored folded items lack their
// lightest keys. Then only units and records of the whole are the same; a key's units and top are lower bounds, and
// with their errors upper bounds.
func Fold(items []Item, start time.Time, length time.Duration) Item {
	folded := Item{Start: start, Window: length, Base: length, Coverage: coverage(items)}
	var tallier tallier
	tallier.reset(items)
	for i := range items {
		folded.addTotals(&items[i], i == 0)
	}
	for _, rests := range tallier.rests {
		rest, indexRest := rests.Unlisted(false), rests.Unlisted(true)
		folded.Rest += rest
		folded.IndexRest += indexRest
		if items[0].baseLength() == items[0].Window { // else addTotals has set them, from folded items
			folded.TopRest, folded.TopIndexRest = max(folded.TopRest, rest), max(folded.TopIndexRest, indexRest)
		}
	}
	var k *Key // of the last tally
	for t := range tallier.tallies() {
		key := t.entries[0].key
		if k == nil || k.Key != key.Key || k.Index != key.Index {
			folded.Keys = append(folded.Keys, Key{Index: key.Index, Key: key.Key, Err: folded.rest(key.Index != "")})
			k = &folded.Keys[len(folded.Keys)-1]
		}
		k.addTally(t)
	}
	slices.SortFunc(folded.Keys, compareWeights)
	return folded
}

// addTotals adds another item's totals. If first is set, it also copies the fields that all items have in common.
func (it *Item) addTotals(other *Item, first bool) {
	if first {
		it.Table, it.Own, it.Base, it.Limit, it.HotRate = other.Table, other.Own, other.baseLength(), other.Limit, other.HotRate
	}
	it.Limit, it.HotRate = min(it.Limit, other.Limit), min(it.HotRate, other.HotRate)
	it.TopRest, it.TopIndexRest = max(it.TopRest, other.TopRest), max(it.TopIndexRest, other.TopIndexRest)
	it.Records += other.Records
	it.Units += other.Units
	it.Incomplete = it.Incomplete || other.Incomplete
	for index, units := range other.IndexUnits {
		if it.IndexUnits == nil {
			it.IndexUnits = make(map[string]uint64)
		}
		it.IndexUnits[index] += units
	}
}

// addTally adds one window's counts of the key. Before the first call, Err is the sum of all windows' rests. Each call
// replaces one window's rest in Err by the error of the window's counts.
func (k *Key) addTally(t tally) {
	first := k.TopAt.IsZero()
	writes := t.writes()
	switch {
	case first:
		k.Writes = writes
	case k.Writes > 0 && writes > 0:
		k.Writes += writes
	default:
		k.Writes = 0 // unknown
	}
	k.Units += t.units
	k.Err = k.Err - t.rest + t.err
	if first || t.top > k.Top {
		k.Top, k.TopErr, k.TopAt = t.top, t.topErr, t.topAt
	}
	k.TopMost = max(k.TopMost, t.topMost)
	if t.peak > k.Peak {
		k.Peak, k.PeakAt = t.peak, t.peakAt
	}
}

// AtMost returns an item for one base window of a folded item: each key has the most units that it can have in any base
// window. If the item is not folded, AtMost returns the item unchanged.
func (it Item) AtMost() Item {
	if it.Base == 0 {
		return it
	}
	several := it.Base < it.Window
	it.Window, it.Base, it.Rest, it.IndexRest = it.Base, 0, it.TopRest, it.TopIndexRest
	it.Keys = slices.Clone(it.Keys)
	for i := range it.Keys {
		k := &it.Keys[i]
		k.Units, k.Err = k.TopMost, 0
		if several { // a base window may not list the key
			k.Units = max(k.TopMost, it.rest(k.Index != ""))
		}
	}
	return it
}

// writes returns the number of writes to the key, or 0 if it is unknown for some of its units.
func (t *tally) writes() (n uint64) {
	for _, e := range t.entries {
		if e.key.Writes == 0 {
			return 0
		}
		n += e.key.Writes
	}
	return n
}

// compareWeights orders keys by weight, the heaviest first. Keys of the table are before keys of indexes.
func compareWeights(a, b Key) int {
	if ofIndex := a.Index != ""; ofIndex != (b.Index != "") {
		if ofIndex {
			return 1
		}
		return -1
	}
	if a, b := a.weight(), b.weight(); a != b {
		return cmp.Compare(b, a)
	}
	return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Index, b.Index))
}

// weight returns the key's certified units; in a folded item (TopAt is set) those of its heaviest base window.
func (k *Key) weight() uint64 {
	if k.TopAt.IsZero() {
		return k.Units
	}
	return k.Top
}

// foldGroups groups the items that can be folded together: those of one table with windows of one length. The groups'
// order does not depend on the items' order.
func foldGroups(items []Item) [][]Item {
	type kind struct {
		table string
		own   string
		base  time.Duration
	}
	kinds := make(map[kind][]Item)
	for _, it := range items {
		id := kind{it.Table, it.Own, it.baseLength()}
		kinds[id] = append(kinds[id], it)
	}
	var list [][]Item
	for _, id := range slices.SortedFunc(maps.Keys(kinds), func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.table, b.table), cmp.Compare(a.own, b.own), cmp.Compare(a.base, b.base))
	}) {
		list = append(list, kinds[id])
	}
	return list
}

// coverage returns the share of the items' records that was read; 0 if all were. Without records it is the mean share.
func coverage(items []Item) float64 {
	var read, made, sum float64
	all := true
	for i := range items {
		c := items[i].Coverage
		if c > 0 && c < 1 {
			all = false
		} else {
			c = 1
		}
		read += float64(items[i].Records)
		made += float64(items[i].Records) / c
		sum += c
	}
	switch {
	case all:
		return 0
	case made > 0:
		return read / made
	}
	return sum / float64(len(items))
}
