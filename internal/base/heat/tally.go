package heat

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"
)

// entry is a key in an item.
type entry struct {
	key  *Key
	item *Item
}

func (e entry) sameKey(other entry) bool {
	return e.key.Key == other.key.Key && e.key.Index == other.key.Index && e.item.Table == other.item.Table
}

func (e entry) ofIndex() bool { return e.key.Index != "" }

// window identifies a window of the table, or of all its indexes. An item's window is that of the table.
type window struct {
	table        string
	start        int64 // milliseconds
	length, base time.Duration
	ofIndex      bool
}

func (it *Item) window() window {
	return window{table: it.Table, start: it.Start.UnixMilli(), length: it.Window, base: it.baseLength()}
}

func (e entry) window() window {
	w := e.item.window()
	w.ofIndex = e.ofIndex()
	return w
}

// tally has the counts of a key in one window, from all its items or from the folded one.
type tally struct {
	entries    []entry // at least one
	units, err uint64  // lower bound of the units, and its error: upper bound minus lower bound
	rest       uint64  // upper bound of the units of a key that no item lists

	top, topErr uint64 // units and err in the base window that starts at topAt
	topAt       time.Time
	topMost     uint64 // see [Key.TopMost]

	peak   uint64 // in the heaviest second
	peakAt time.Time
}

// tallier groups the items of windows by key. It reuses its memory.
type tallier struct {
	entries []entry
	rests   map[window]*Rests
}

// reset replaces the items.
func (a *tallier) reset(items []Item) {
	a.entries, a.rests = a.entries[:0], make(map[window]*Rests)
	for i := range items {
		item := &items[i]
		id := item.window()
		if a.rests[id] == nil {
			a.rests[id] = new(Rests)
		}
		a.rests[id].Add(item)
		for j := range item.Keys {
			a.entries = append(a.entries, entry{&item.Keys[j], item})
		}
	}
	slices.SortFunc(a.entries, compareEntries)
}

// tallies iterates over the keys in order of key, index and table, and for each key over its windows in order of time.
func (a *tallier) tallies() iter.Seq[tally] {
	return func(yield func(tally) bool) {
		for left := a.entries; len(left) > 0; {
			window := sameWindow(left)
			left = left[len(window):]
			rest := a.rests[window[0].item.window()].Unlisted(window[0].ofIndex())
			if !yield(tallyOf(window, rest)) {
				return
			}
		}
	}
}

// tallyOf adds up the entries of one key in one window, in order of their peak seconds. rest is for [tally.rest].
func tallyOf(entries []entry, rest uint64) tally {
	t := tally{entries: entries, rest: rest, peakAt: entries[0].key.PeakAt}
	var second uint64 // units in the second of the entry's peak
	unlisted := rest  // upper bound of the key's units in items that don't list it
	for i, e := range entries {
		t.units += e.key.Units
		t.err += e.key.Err
		unlisted -= min(unlisted, e.item.rest(e.ofIndex()))
		if i == 0 || !e.key.PeakAt.Equal(entries[i-1].key.PeakAt) {
			second = 0
		}
		second += e.key.Peak
		if second > t.peak {
			t.peak, t.peakAt = second, e.key.PeakAt
		}
	}
	t.err += unlisted
	first := entries[0]
	t.top, t.topErr, t.topAt, t.topMost = t.units, t.err, first.item.Start, t.units+t.err
	if first.item.baseLength() < first.item.Window {
		t.top, t.topErr, t.topAt, t.topMost = first.key.Top, first.key.TopErr, first.key.TopAt, first.key.TopMost
	}
	return t
}

// rate returns the certified rate of the base window, in WCU/s.
func (t *tally) rate() float64 { return float64(t.top) / t.entries[0].item.baseLength().Seconds() }

// compareEntries orders by key, index, table, window and second of the peak.
func compareEntries(a, b entry) int {
	if a.key.Key != b.key.Key { // nearly always true; the other comparisons are slow
		return strings.Compare(a.key.Key, b.key.Key)
	}
	return cmp.Or(
		strings.Compare(a.key.Index, b.key.Index),
		strings.Compare(a.item.Table, b.item.Table),
		a.item.Start.Compare(b.item.Start),
		cmp.Compare(a.item.Window, b.item.Window),
		cmp.Compare(a.item.baseLength(), b.item.baseLength()),
		a.key.PeakAt.Compare(b.key.PeakAt),
	)
}

// sameWindow returns the leading entries with one key, index and window.
func sameWindow(entries []entry) []entry {
	for i, e := range entries {
		if !e.sameKey(entries[0]) || e.window() != entries[0].window() {
			return entries[:i]
		}
	}
	return entries
}
