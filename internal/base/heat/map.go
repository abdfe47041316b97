package heat

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// MapOptions select the heat that a map shows.
type MapOptions struct {
	// The columns begin at From, one each Step. The last column contains To or ends there. To is after From, and Step
	// above 0.
	From, To time.Time
	Step     time.Duration

	Rows   int    // the most rows; at least 1
	Table  string // whose stream it is, "" for hotshard's own
	Index  string // whose partition keys are shown, "" for the table's
	Filter string // keys that don't contain it, in any case, are in the rest
	ByBase bool   // a row is a base key, with all its write shards

	Unfold []string // with ByBase: keys of rows that list their write shards

	// AsOf is the end of the newest complete window; zero means the end of the newest window added. The time from Read
	// to AsOf was read, so times without a window had no writes. With a zero Read, only windows show what was read.
	AsOf, Read time.Time

	// Windows that start at Since or later, and end by From, count for verdicts, rates and peaks, and have no column. A
	// zero Since means no such windows.
	Since time.Time

	Changes map[string][]Change // by base key; a writer's change means that the key was hot
}

// Map builds the matrix of keys and columns from items, in any order. If it holds too many keys, it drops the colder
// half of them into the rest.
type Map struct {
	o       MapOptions
	filter  string
	columns []column
	keys    map[string]int // their places in lines
	lines   []line
	cells   int
	dropped bool
	unread  []unreadTime

	tallier    tallier
	newest     *Item // the item of the newest window, its keys aside
	indexUnits map[string]uint64
}

// unreadTime is a window with items that can't be read.
type unreadTime struct {
	start  time.Time
	length time.Duration
	share  float64
}

// Bounds of what a map holds: some 100 MB.
const (
	maxMapKeys  = 400_000
	maxMapCells = 2_000_000
)

// column has the totals of a column.
type column struct {
	total   uint64
	hidden  uint64  // the most units of a key that no window lists
	dropped uint64  // the most additional units of a key that was dropped
	covered float64 // share of the time and its records that windows cover
	read    float64 // share of the time that was read, windows or not
}

// overlap returns the length of the intersection of two spans.
func overlap(from, to, otherFrom, otherTo time.Time) time.Duration {
	if from.Before(otherFrom) {
		from = otherFrom
	}
	return minTime(to, otherTo).Sub(from)
}

// line has the counts of one key.
type line struct {
	Verdicts
	key   string
	cells []cell
	units uint64
	rate  float64
	peak  uint64 // units in its heaviest second
	late  bool   // other keys had been dropped before; it may be one of them
}

// cell has the counts of a key in a column. More is the difference between its error and the units that the column
// hides of any key. Top is the certified rate of the key's heaviest window.
type cell struct {
	column int32
	top    float64
	units  uint64
	more   int64
}

// NewMap returns an empty map with at least one column.
func NewMap(o MapOptions) *Map {
	n := int((o.To.Sub(o.From) + o.Step - 1) / o.Step)
	m := &Map{o: o, filter: strings.ToLower(o.Filter), columns: make([]column, max(n, 1)), keys: make(map[string]int), indexUnits: make(map[string]uint64)}
	for i := range m.columns {
		begin := o.From.Add(time.Duration(i) * o.Step)
		if read := overlap(begin, begin.Add(o.Step), o.Read, o.AsOf); !o.Read.IsZero() && read > 0 {
			m.columns[i].read = float64(read) / float64(o.Step)
		}
	}
	return m
}

// Add adds all items of some windows; no later call may have an item of these windows. A window that is longer than a
// column, or crosses a border, is divided among its columns in proportion to the time: there units are a mean and no
// lower bound.
func (m *Map) Add(items []Item) {
	m.addBefore(items)
	mine := slices.DeleteFunc(slices.Clone(items), func(it Item) bool {
		return it.Table != m.o.Table || !it.End().After(m.o.From) || !it.Start.Before(m.o.To)
	})
	m.tallier.take(mine)
	m.note(mine)
	for t := range m.tallier.all() {
		key := t.entries[0].key
		if key.Index != m.o.Index {
			continue
		}
		item := t.entries[0].item
		if l := m.line(key.Key); l != nil {
			m.enter(l, &t)
		}
		for column, share := range m.shares(item) {
			m.columns[column].total += share.of(t.units)
		}
	}
	if len(m.lines) > maxMapKeys || m.cells > maxMapCells {
		m.drop()
	}
}

// addBefore adds items of windows before the first column.
func (m *Map) addBefore(items []Item) {
	if m.o.Since.IsZero() {
		return
	}
	m.tallier.take(slices.DeleteFunc(slices.Clone(items), func(it Item) bool {
		return it.Table != m.o.Table || it.End().After(m.o.From) || it.Start.Before(m.o.Since)
	}))
	for t := range m.tallier.all() {
		if key := t.entries[0].key; key.Index == m.o.Index {
			if l := m.line(key.Key); l != nil {
				l.see(&t, m.o.AsOf)
			}
		}
	}
}

// AddOpen adds items of incomplete windows. They only show which keys are certainly hot.
func (m *Map) AddOpen(items []Item) {
	m.tallier.take(slices.DeleteFunc(slices.Clone(items), func(it Item) bool { return it.Table != m.o.Table }))
	for t := range m.tallier.all() {
		key := t.entries[0].key
		if v := t.verdicts(m.o.AsOf); key.Index == m.o.Index && v.Worst >= Hot {
			if l := m.line(key.Key); l != nil {
				l.join(v)
			}
		}
	}
}

// AddUnread notes that items of a window can't be read, which lowers its columns' coverage. The caller adds the
// window's other items with Add.
func (m *Map) AddUnread(w Window) {
	if len(w.Unreadable) == 0 {
		return
	}
	lost := unreadTime{w.Start, w.Length, w.Unread()}
	if len(w.Items) > 0 {
		lost.length = w.Items[0].Window
	}
	m.unread = append(m.unread, lost)
}

// covered returns the share of each column's time and records that was read.
func (m *Map) covered() []float64 {
	list := make([]float64, len(m.columns))
	for i, c := range m.columns {
		list[i] = max(c.covered, c.read)
	}
	for _, u := range m.unread {
		one := Item{Start: u.start, Window: cmp.Or(u.length, m.length())}
		for column, share := range m.shares(&one) {
			lost := u.share * float64(share.to-share.from) / float64(m.o.Step.Milliseconds())
			list[column] = max(0, list[column]-lost)
		}
	}
	return list
}

// note adds the totals of windows: units, coverage and hidden units.
func (m *Map) note(items []Item) {
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
		unlisted := m.unlisted(it)
		for column, share := range m.shares(it) {
			m.columns[column].total += share.of(unlisted)
		}
	}
	for id, list := range windows {
		one := Item{Start: time.UnixMilli(id.start), Window: id.length}
		known := coverage(list)
		if known == 0 {
			known = 1
		}
		hidden := m.tallier.rests[id].Of(m.o.Index != "")
		for column, share := range m.shares(&one) {
			c := &m.columns[column]
			c.hidden += share.of(hidden)
			c.covered = min(1, c.covered+known*float64(share.to-share.from)/float64(m.o.Step.Milliseconds()))
		}
	}
}

// unlisted returns the units of all keys that an item doesn't list.
func (m *Map) unlisted(it *Item) uint64 {
	units, listed := it.Units, uint64(0)
	if m.o.Index != "" {
		units = it.IndexUnits[m.o.Index]
	}
	for _, k := range it.Keys {
		if k.Index == m.o.Index {
			listed += k.Units
		}
	}
	return max(units, listed) - listed
}

// line returns a key's line, or nil if the filter excludes it.
func (m *Map) line(key string) *line {
	at, ok := m.keys[key]
	if !ok {
		if m.filter != "" && !strings.Contains(strings.ToLower(m.rowKey(key)), m.filter) {
			return nil
		}
		at = len(m.lines)
		m.keys[key] = at
		m.lines = append(m.lines, line{key: key, late: m.dropped})
	}
	return &m.lines[at]
}

// see updates a line's verdicts, rates and peaks by a tally.
func (l *line) see(t *tally, asOf time.Time) {
	l.rate, l.peak = max(l.rate, t.rate()), max(l.peak, t.peak)
	l.join(t.verdicts(asOf))
}

// enter adds a tally to its key's line.
func (m *Map) enter(l *line, t *tally) {
	item, rate := t.entries[0].item, t.rate()
	l.see(t, m.o.AsOf)
	for column, share := range m.shares(item) {
		units, more := share.of(t.units), int64(share.of(t.err))-int64(share.of(t.rest))
		l.units += units
		if last := len(l.cells) - 1; last >= 0 && l.cells[last].column == int32(column) {
			l.cells[last].units += units
			l.cells[last].more += more
			l.cells[last].top = max(l.cells[last].top, rate)
			continue
		}
		l.cells = append(l.cells, cell{int32(column), rate, units, more})
		m.cells++
	}
}

// drop moves the coldest keys into the rest. A dropped key that is added again is new, and its error includes the units
// before.
func (m *Map) drop() {
	slices.SortFunc(m.lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(b.Worst, a.Worst), cmp.Compare(b.rate, a.rate), cmp.Compare(b.units, a.units), cmp.Compare(a.key, b.key))
	})
	kept, cells := 0, 0
	for kept < len(m.lines) && kept < maxMapKeys/2 && cells+len(m.lines[kept].cells) <= maxMapCells/2 {
		cells += len(m.lines[kept].cells)
		kept++
	}
	for i := range m.lines[kept:] {
		l := &m.lines[kept+i]
		for column, c := range l.sums() {
			got := int64(c.units) + c.more
			if l.late {
				got += int64(m.columns[column].dropped)
			}
			m.columns[column].dropped = max(m.columns[column].dropped, uint64(max(0, got)))
		}
	}
	clear(m.lines[kept:])
	m.lines, m.cells, m.dropped = m.lines[:kept], cells, true
	clear(m.keys)
	for i := range m.lines {
		m.keys[m.lines[i].key] = i
	}
}

// sums returns the line's cells by column.
func (l *line) sums() map[int32]cell {
	sums := make(map[int32]cell, len(l.cells))
	for _, c := range l.cells {
		sum := sums[c.column]
		sums[c.column] = cell{c.column, 0, sum.units + c.units, sum.more + c.more}
	}
	return sums
}
