package heat

import (
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/display"
)

// Matrix has the heat by keys and columns. Units are write units. In each column Rest and the Units of all
// rows add up to Total.
type Matrix struct {
	From         display.Time     `json:"from" format:"date-time" doc:"Start of the first column"`
	To           display.Time     `json:"to" format:"date-time" doc:"End of the last column"`
	Step         display.Duration `json:"step" pattern:"^([0-9]+(\\.[0-9]+)?(d|ms|s|m|h))([0-9]+(\\.[0-9]+)?(ms|s|m|h))*$" example:"30m" doc:"A column's length, such as 10s or 1m"`
	PartitionWCU float64          `json:"partition_wcu" doc:"A partition's limit in WCU/s, from the newest window; 0 without windows"`
	HotWCU       float64          `json:"hot_wcu" doc:"Lowest WCU/s of a hot key, from the newest window; 0 without windows"`
	AsOf         display.Time     `json:"as_of,omitzero" format:"date-time" doc:"End of the newest complete window; absent without windows. Later columns are empty and not covered"`
	Table        string           `json:"table,omitempty" doc:"The table of the keys; absent for hotshard's own tables"`
	Indexes      []string         `json:"indexes" doc:"The table's indexes with writes in this time"`
	Rows         []Row            `json:"rows" doc:"In key order"`
	Rest         []uint64         `json:"rest" doc:"Write units in no row, in each column. rest and the units of all rows add up to total"`
	Total        []uint64         `json:"total" doc:"Write units of the table or index, in each column"`
	Covered      []float64        `json:"covered" doc:"The share of each column's time and records that was read: 1 if all was read, even without writes; 0 if nothing was"`
}

// Matrix returns the matrix of all items that were added. Keys that were hot have their own rows, at most the hottest
// [MapOptions.Rows] of them. The other keys are in rows of neighbours: see [ranges].
func (m *Map) Matrix() Matrix {
	sorted, out := m.groups(), m.emptyMatrix()
	spans := ranges(sorted, m.options.Rows)
	var excess [][]int64
	for _, s := range spans {
		row, rowExcess := m.sumRow(sorted[s.from:s.to])
		for column, units := range row.Units {
			out.Rest[column] -= units
		}
		out.Rows, excess = append(out.Rows, row), append(excess, rowExcess)
	}
	for i, s := range spans {
		row := &out.Rows[i]
		m.setErrors(row, sorted[s.from:s.to], excess[i], out.Rest)
		if m.options.ByBase && s.to == s.from+1 && slices.Contains(m.options.Unfold, row.Key) {
			row.WriteShards = m.writeShards(sorted[s.from], out.Rest)
		}
	}
	return out
}

// emptyMatrix returns the matrix with all columns and no rows.
func (m *Map) emptyMatrix() Matrix {
	out := Matrix{
		From: display.Time{Time: m.options.From}, To: display.Time{Time: m.options.To}, Step: display.Duration(m.options.Step), Table: m.options.Table,
		AsOf: display.Time{Time: m.asOf()}, Indexes: []string{}, Rows: []Row{}, Covered: m.covered(),
	}
	out.PartitionWCU = m.partitionLimit()
	if m.newest != nil {
		out.HotWCU = m.newest.HotRate
	}
	for index, units := range m.indexUnits {
		if units > 0 {
			out.Indexes = append(out.Indexes, index)
		}
	}
	slices.Sort(out.Indexes)
	for _, c := range m.columns {
		out.Total = append(out.Total, c.total)
	}
	out.Rest = slices.Clone(out.Total)
	return out
}

// asOf returns the end of the newest complete window, or zero if it is unknown.
func (m *Map) asOf() time.Time {
	if m.options.AsOf.IsZero() && m.newest != nil {
		return m.newest.End()
	}
	return m.options.AsOf
}

// partitionLimit returns a partition's limit in WCU/s, from the newest window; 0 without windows.
func (m *Map) partitionLimit() float64 {
	if m.newest == nil {
		return 0
	}
	return m.newest.Limit
}

// windowLength returns the length of windows.
func (m *Map) windowLength() time.Duration {
	if m.newest == nil {
		return usualWindow
	}
	return m.newest.baseLength()
}

// usualWindow is the default length of windows.
const usualWindow = 10 * time.Second

// sumRow returns the sum of some groups as a row, without errors. excess is the sum of the keys' [cell.excess] in each column.
func (m *Map) sumRow(groups []*rowGroup) (row Row, excess []int64) {
	first, last := groups[0].key, groups[len(groups)-1].key
	n := len(m.columns)
	row = Row{Key: first, Keys: len(groups), Index: m.options.Index, Units: make([]uint64, n), Error: make([]uint64, n), Heaviest: make([]float64, n)}
	if row.Keys > 1 {
		row.Key, row.First, row.Last = commonPrefix(first, last), first, last
	} else {
		base, _ := baseOf(m.options.Table, m.options.Index, groups[0].lines[0].key)
		row.Type, row.Name = base.Type, base.Name
	}
	excess = make([]int64, n)
	var v Verdicts
	for _, g := range groups {
		row.Rate, row.Peak = max(row.Rate, Hundredths(g.rate)), max(row.Peak, g.peak)
		v.join(g.Verdicts)
		for _, l := range g.lines {
			for _, c := range l.cells {
				row.Units[c.column] += c.units
				row.Heaviest[c.column] = max(row.Heaviest[c.column], Hundredths(c.top))
				excess[c.column] += c.excess
			}
		}
	}
	row.setVerdicts(v)
	return row, excess
}

// setErrors sets the row's error in each column: the most units of the row's keys that are in the column's rest.
func (m *Map) setErrors(row *Row, groups []*rowGroup, excess []int64, rest []uint64) {
	keys, late := uint64(0), uint64(0)
	for _, g := range groups {
		for _, l := range g.lines {
			keys++
			if l.late {
				late++
			}
		}
	}
	for i, c := range m.columns {
		hidden := multiply(c.hidden, keys) + float64(excess[i]) + multiply(c.dropped, late)
		row.Error[i] = rest[i]
		if hidden < float64(rest[i]) {
			row.Error[i] = uint64(max(0, hidden))
		}
	}
}

// multiply returns the product, which may exceed 64 bits.
func multiply(a, b uint64) float64 { return float64(a) * float64(b) }
