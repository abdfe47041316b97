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

	Rows   int    // maximum number of rows; at least 1
	Table  string // the table of the stream; "" for hotshard's own tables
	Index  string // the index whose partition keys are shown; "" for the table's own
	Filter string // only keys that contain this text have rows; case is ignored; "" selects all keys
	ByBase bool   // rows are base keys with all their write shards

	Unfold []string // with ByBase: keys of rows that list their write shards

	// AsOf is the end of the newest complete window; zero means the end of the newest window that was added.
	AsOf time.Time

	// Read is the start of the time, until AsOf, that was read completely: without a window it had no writes. If Read is
	// zero, a time without a window is not covered.
	Read time.Time

	Changes map[string][]Change // by base key; with ByBase, a throttled writer's change can make a row hot
}

// Map builds the matrix of keys and columns from items, in any order. If it holds too many keys, it drops the colder
// half of them into the rest.
type Map struct {
	options    MapOptions
	filter     string
	columns    []column
	keys       map[string]int // indexes in lines
	lines      []line
	cells      int
	hasDropped bool

	maxKeys, maxCells int // with more of either, Add drops keys

	tallier    tallier
	newest     *Item // an item of the newest window, without its keys
	indexUnits map[string]uint64
}

// Bounds of a map's memory, about 100 MB.
const (
	maxMapKeys  = 400_000
	maxMapCells = 2_000_000
)

// column has the totals of a column.
type column struct {
	total    uint64
	unlisted uint64  // upper bound of the units of a key that no window lists
	dropped  uint64  // upper bound of the units of any dropped key
	covered  float64 // share of the time and its records that windows cover
	read     float64 // share of the time that was read, with or without windows
	unread   float64 // share of the time and its records in items that can't be read
}

// line has the counts of one key.
type line struct {
	Verdicts
	key       string
	cells     []cell // a column may have several
	units     uint64
	rate      float64 // certified, of the hottest window
	peak      uint64  // units in the heaviest second
	afterDrop bool    // the line was made after others were dropped, so it may lack units
}

// cell has the counts of a key in a column.
type cell struct {
	column int32
	top    float64 // certified rate of the key's heaviest window
	units  uint64
	excess int64 // the key's error minus the bound of unlisted keys, summed over the windows that list the key
}

// NewMap returns an empty map with at least one column.
func NewMap(o MapOptions) *Map {
	n := int((o.To.Sub(o.From) + o.Step - 1) / o.Step)
	m := &Map{options: o, filter: strings.ToLower(o.Filter), columns: make([]column, max(n, 1)), keys: make(map[string]int), indexUnits: make(map[string]uint64), maxKeys: maxMapKeys, maxCells: maxMapCells}
	for i := range m.columns {
		begin := o.From.Add(time.Duration(i) * o.Step)
		if !o.Read.IsZero() {
			overlap := MinTime(begin.Add(o.Step), o.AsOf).Sub(MaxTime(begin, o.Read)) // of the column and what was read
			m.columns[i].read = max(0, float64(overlap)/float64(o.Step))
		}
	}
	return m
}

// Add adds all items of some windows; no later call may have an item of these windows. A window that overlaps several
// columns is divided among them in proportion to the time. In these columns units are a mean and no lower bound.
func (m *Map) Add(items []Item) {
	shown := slices.DeleteFunc(slices.Clone(items), func(it Item) bool {
		return it.Table != m.options.Table || !it.End().After(m.options.From) || !it.Start.Before(m.options.To)
	})
	m.tallier.reset(shown)
	m.addTotals(shown)
	for t := range m.tallier.tallies() {
		key := t.entries[0].key
		if key.Index != m.options.Index {
			continue
		}
		item := t.entries[0].item
		if l := m.lineOf(key.Key); l != nil {
			m.addTally(l, &t)
		}
		for column, share := range m.shares(item) {
			m.columns[column].total += share.unitsOf(t.units)
		}
	}
	if len(m.lines) > m.maxKeys || m.cells > m.maxCells {
		m.dropColdest()
	}
}

// AddOpen adds items of incomplete windows. They only show which keys are certainly hot: their units are not added.
func (m *Map) AddOpen(items []Item) {
	m.tallier.reset(slices.DeleteFunc(slices.Clone(items), func(it Item) bool { return it.Table != m.options.Table }))
	for t := range m.tallier.tallies() {
		key := t.entries[0].key
		if v := t.verdicts(m.options.AsOf); key.Index == m.options.Index && v.Worst >= Hot {
			if l := m.lineOf(key.Key); l != nil {
				l.join(v)
			}
		}
	}
}

// lineOf returns a key's line, which it creates if needed, or nil if the filter excludes the key.
func (m *Map) lineOf(key string) *line {
	if i, ok := m.keys[key]; ok {
		return &m.lines[i]
	}
	if m.filter != "" && !strings.Contains(strings.ToLower(m.rowKey(key)), m.filter) {
		return nil
	}
	m.keys[key] = len(m.lines)
	m.lines = append(m.lines, line{key: key, afterDrop: m.hasDropped})
	return &m.lines[len(m.lines)-1]
}

// addTally adds a key's counts in one window to the key's line.
func (m *Map) addTally(l *line, t *tally) {
	rate := t.rate()
	l.rate, l.peak = max(l.rate, rate), max(l.peak, t.peak)
	l.join(t.verdicts(m.options.AsOf))
	for column, share := range m.shares(t.entries[0].item) {
		if last := len(l.cells) - 1; last < 0 || l.cells[last].column != int32(column) {
			l.cells = append(l.cells, cell{column: int32(column)})
			m.cells++
		}
		c, units := &l.cells[len(l.cells)-1], share.unitsOf(t.units)
		l.units += units
		c.units += units
		c.excess += int64(share.unitsOf(t.err)) - int64(share.unitsOf(t.rest))
		c.top = max(c.top, rate)
	}
}

// dropColdest removes the coldest keys, so that half of the map's bounds is free. Their units are then in the rest. The
// error of a key that is added again includes the units that were dropped.
func (m *Map) dropColdest() {
	slices.SortFunc(m.lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(b.Worst, a.Worst), cmp.Compare(b.rate, a.rate), cmp.Compare(b.units, a.units), cmp.Compare(a.key, b.key))
	})
	kept, cells := 0, 0
	for kept < len(m.lines) && kept < m.maxKeys/2 && cells+len(m.lines[kept].cells) <= m.maxCells/2 {
		cells += len(m.lines[kept].cells)
		kept++
	}
	for i := range m.lines[kept:] {
		l := &m.lines[kept+i]
		for column, c := range l.sums() {
			upperBound := int64(c.units) + c.excess
			if l.afterDrop {
				upperBound += int64(m.columns[column].dropped)
			}
			m.columns[column].dropped = max(m.columns[column].dropped, uint64(max(0, upperBound)))
		}
	}
	clear(m.lines[kept:])
	m.lines, m.cells, m.hasDropped = m.lines[:kept], cells, true
	clear(m.keys)
	for i := range m.lines {
		m.keys[m.lines[i].key] = i
	}
}

// sums returns the line's sum of cells in each column, without rates.
func (l *line) sums() map[int32]cell {
	sums := make(map[int32]cell, len(l.cells))
	for _, c := range l.cells {
		sum := sums[c.column]
		sums[c.column] = cell{column: c.column, units: sum.units + c.units, excess: sum.excess + c.excess}
	}
	return sums
}
