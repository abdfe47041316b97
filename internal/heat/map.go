package heat

import (
	"cmp"
	"math/bits"
	"slices"
	"time"
)

// MapOptions say which heat a map shows.
type MapOptions struct {
	// The columns begin at From, and each Step after it; the last one has To or ends there.
	// To is after From, and Step above 0.
	From, To time.Time
	Step     time.Duration

	Rows   int    // how many there may be; at least 1
	Table  string // whose stream it is, "" for hotshard's own
	Index  string // whose partition keys are shown, "" for the table's
	Prefix string // keys that don't begin with it are in the rest
}

// Map makes the matrix of keys and times, by what is added, in any order. While it
// holds too many keys, it drops the coldest half of them into the rest.
type Map struct {
	o       MapOptions
	columns []column
	keys    map[string]int // their places in lines
	lines   []line
	cells   int
	dropped bool

	tallier    tallier
	newest     *Item // the item of the newest window, its keys aside
	indexUnits map[string]uint64
}

// Bounds of what a map holds: some 100 MB.
const (
	maxMapKeys  = 400_000
	maxMapCells = 2_000_000
)

// column is what is known of a time, beside cells.
type column struct {
	total   uint64
	hidden  uint64  // at most so many units went to a key that no window lists
	dropped uint64  // at most so many more to a key that was dropped, and is not listed since
	covered float64 // share of the time and its records that is known
}

// line is one key.
type line struct {
	key    string
	cells  []cell
	units  uint64
	rate   float64
	status Status
	late   bool // others were dropped before it came; it may be one of them
}

// cell is what a key got in a column. More is by how much its error is above what
// the column hides of any key.
type cell struct {
	column int
	units  uint64
	more   int64
}

// NewMap returns an empty map. It has one column at least.
func NewMap(o MapOptions) *Map {
	n := int((o.To.Sub(o.From) + o.Step - 1) / o.Step)
	return &Map{o: o, columns: make([]column, max(n, 1)), keys: make(map[string]int), indexUnits: make(map[string]uint64)}
}

// Add takes all items of some windows. No later call may have an item of these. Of a
// window that is longer than a column, or lies across a border, each column gets a part that
// accords with their common time: there units are a mean and no lower bound.
func (m *Map) Add(items []Item) {
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
		shown := len(key.Key) >= len(m.o.Prefix) && key.Key[:len(m.o.Prefix)] == m.o.Prefix
		if shown {
			m.enter(&t)
		}
		for column, share := range m.shares(item) {
			m.columns[column].total += share.of(t.units)
		}
	}
	if len(m.lines) > maxMapKeys || m.cells > maxMapCells {
		m.drop()
	}
}

// note takes over what windows say beside their keys.
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

// unlisted is what the keys that an item doesn't list got together.
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

// enter adds a tally to its key's line.
func (m *Map) enter(t *tally) {
	item, key := t.entries[0].item, t.entries[0].key
	at, ok := m.keys[key.Key]
	if !ok {
		at = len(m.lines)
		m.keys[key.Key] = at
		m.lines = append(m.lines, line{key: key.Key, late: m.dropped})
	}
	l := &m.lines[at]
	rate := t.rate()
	l.rate, l.status = max(l.rate, rate), max(l.status, Verdict(rate, item.Limit, item.HotRate))
	for column, share := range m.shares(item) {
		units, more := share.of(t.units), int64(share.of(t.err))-int64(share.of(t.rest))
		l.units += units
		if last := len(l.cells) - 1; last >= 0 && l.cells[last].column == column {
			l.cells[last].units += units
			l.cells[last].more += more
			continue
		}
		l.cells = append(l.cells, cell{column, units, more})
		m.cells++
	}
}

// share is the part of a window's time that lies in a column, in milliseconds from its start.
type share struct{ from, to, length uint64 }

// of is the share's part of so many units. The parts of all shares of a window add up to all
// of them.
func (s share) of(units uint64) uint64 {
	if s.from == 0 && s.to == s.length {
		return units
	}
	upTo := func(part uint64) uint64 {
		high, low := bits.Mul64(units, part)
		n, _ := bits.Div64(high, low, s.length) // part is at most length
		return n
	}
	return upTo(s.to) - upTo(s.from)
}

// shares are the columns that a window's time has a part in.
func (m *Map) shares(it *Item) func(yield func(int, share) bool) {
	return func(yield func(int, share) bool) {
		step, length := m.o.Step.Milliseconds(), it.Window.Milliseconds()
		begin := it.Start.UnixMilli() - m.o.From.UnixMilli()
		for n := max(0, begin/step); n < int64(len(m.columns)) && n*step < begin+length; n++ {
			from, to := max(0, n*step-begin), min(length, (n+1)*step-begin)
			if to > from && !yield(int(n), share{uint64(from), uint64(to), uint64(length)}) {
				return
			}
		}
	}
}

// drop puts the coldest keys into the rest. One that comes again is a new one, with an
// error that has what it got before.
func (m *Map) drop() {
	slices.SortFunc(m.lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(b.status, a.status), cmp.Compare(b.rate, a.rate), cmp.Compare(b.units, a.units), cmp.Compare(a.key, b.key))
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

// sums are the line's cells by column.
func (l *line) sums() map[int]cell {
	sums := make(map[int]cell, len(l.cells))
	for _, c := range l.cells {
		sum := sums[c.column]
		sums[c.column] = cell{c.column, sum.units + c.units, sum.more + c.more}
	}
	return sums
}
