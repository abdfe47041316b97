package heat

import (
	"cmp"
	"slices"
	"time"
)

// Matrix is the heat of a time, by keys and columns. Units are write units. In each
// column Rest and the Units of all rows add up to Total.
type Matrix struct {
	From, To     time.Time
	Step         time.Duration
	Table        string  // as in [MapOptions]
	PartitionWCU float64 // what a partition takes, in units a second, and what makes a key hot:
	HotWCU       float64 // those of the newest window; 0 without any
	Rows         []MapRow
	Rest, Total  []uint64  // one a column
	Covered      []float64 // likewise: the share of its time and records that is known, 0 where no window was
	AsOf         time.Time // end of the newest window; zero without any

	// Indexes has the names of the table's indexes that took units, in order.
	Indexes []string
}

// MapRow is one key, or a range of neighbouring keys, none of which was hot.
type MapRow struct {
	Key         string // of a range the prefix that its keys have in common
	First, Last string // of a range
	Keys        int
	Index       string
	Status      Status   // the worst in any window
	Rate        float64  // certified, of its hottest window, in units a second; of a range the greatest of its keys
	Units       []uint64 // one a column, certain
	Error       []uint64 // likewise: it got at most so many more. No more than Rest
}

// Matrix returns what was added. Keys that were hot stand alone, the hottest of them if
// there are more than rows; the others are ranges of neighbours, see ranges.go.
func (m *Map) Matrix() Matrix {
	out := Matrix{From: m.o.From, To: m.o.To, Step: m.o.Step, Table: m.o.Table}
	if m.newest != nil {
		out.PartitionWCU, out.HotWCU, out.AsOf = m.newest.Limit, m.newest.HotRate, m.newest.End()
	}
	for index, units := range m.indexUnits {
		if units > 0 {
			out.Indexes = append(out.Indexes, index)
		}
	}
	slices.Sort(out.Indexes)
	for _, c := range m.columns {
		out.Total = append(out.Total, c.total)
		out.Covered = append(out.Covered, c.covered)
	}
	out.Rest = slices.Clone(out.Total)
	sorted := make([]*line, len(m.lines))
	for i := range m.lines {
		sorted[i] = &m.lines[i]
	}
	slices.SortFunc(sorted, func(a, b *line) int { return cmp.Compare(a.key, b.key) })
	var more [][]int64
	spans := ranges(sorted, m.o.Rows)
	for _, s := range spans {
		row, extra := m.row(sorted[s.from:s.to])
		for column, units := range row.Units {
			out.Rest[column] -= units
		}
		out.Rows, more = append(out.Rows, row), append(more, extra)
	}
	for i, s := range spans {
		m.bound(&out.Rows[i], sorted[s.from:s.to], more[i], out.Rest)
	}
	return out
}

// row adds up the lines of a row. More is what its keys' errors are above what the columns hide.
func (m *Map) row(lines []*line) (row MapRow, more []int64) {
	first, last := lines[0].key, lines[len(lines)-1].key
	row = MapRow{Key: first, Keys: len(lines), Index: m.o.Index, Units: make([]uint64, len(m.columns)), Error: make([]uint64, len(m.columns))}
	if row.Keys > 1 {
		row.Key, row.First, row.Last = commonPrefix(first, last), first, last
	}
	more = make([]int64, len(m.columns))
	for _, l := range lines {
		row.Rate, row.Status = max(row.Rate, l.rate), max(row.Status, l.status)
		for _, c := range l.cells {
			row.Units[c.column] += c.units
			more[c.column] += c.more
		}
	}
	return row, more
}

// bound sets the row's errors: what may be hidden of each of its keys, and no more than the rest.
func (m *Map) bound(row *MapRow, lines []*line, more []int64, rest []uint64) {
	late := uint64(0)
	for _, l := range lines {
		if l.late {
			late++
		}
	}
	for i, c := range m.columns {
		hidden := times(c.hidden, uint64(row.Keys)) + float64(more[i]) + times(c.dropped, late)
		row.Error[i] = rest[i]
		if hidden < float64(rest[i]) {
			row.Error[i] = uint64(max(0, hidden))
		}
	}
}

// times multiplies without overflow.
func times(a, b uint64) float64 { return float64(a) * float64(b) }
