package heat

import (
	"cmp"
	"time"
)

// AddUnread lowers the coverage of a window's columns by the window's unreadable items. It does not add the other items.
func (m *Map) AddUnread(w Window) {
	window := Item{Start: w.Start, Window: cmp.Or(w.Length, m.windowLength())}
	if w.Length == 0 && len(w.Items) > 0 {
		window.Window = w.Items[0].Window
	}
	for column, share := range m.shares(&window) {
		m.columns[column].unread += w.Unread() * float64(share.to-share.from) / float64(m.options.Step.Milliseconds())
	}
}

// covered returns the share of each column's time and records that was read.
func (m *Map) covered() []float64 {
	list := make([]float64, len(m.columns))
	for i, c := range m.columns {
		list[i] = max(0, max(c.covered, c.read)-c.unread)
	}
	return list
}

// addTotals adds what windows show besides listed keys: unlisted units and their bounds, coverage, units of indexes.
func (m *Map) addTotals(items []Item) {
	windows := make(map[window][]Item)
	for i := range items {
		it := &items[i]
		windows[it.window()] = append(windows[it.window()], Item{Coverage: it.Coverage, Records: it.Records})
		if m.newest == nil || it.End().After(m.newest.End()) {
			newest := *it
			newest.Keys = nil
			m.newest = &newest
		}
		for index, units := range it.IndexUnits {
			m.indexUnits[index] += units
		}
		units := m.unlistedUnits(it)
		for column, share := range m.shares(it) {
			m.columns[column].total += share.unitsOf(units)
		}
	}
	for id, list := range windows {
		window := Item{Start: time.UnixMilli(id.start), Window: id.length}
		read := coverage(list)
		if read == 0 { // all records were read
			read = 1
		}
		unlisted := m.tallier.rests[id].Unlisted(m.options.Index != "")
		for column, share := range m.shares(&window) {
			c := &m.columns[column]
			c.unlisted += share.unitsOf(unlisted)
			c.covered = min(1, c.covered+read*float64(share.to-share.from)/float64(m.options.Step.Milliseconds()))
		}
	}
}

// unlistedUnits returns the units that an item counts in the map's table or index, without those of listed keys.
func (m *Map) unlistedUnits(it *Item) uint64 {
	units, listed := it.Units, uint64(0)
	if m.options.Index != "" {
		units = it.IndexUnits[m.options.Index]
	}
	for _, k := range it.Keys {
		if k.Index == m.options.Index {
			listed += k.Units
		}
	}
	return max(units, listed) - listed
}
