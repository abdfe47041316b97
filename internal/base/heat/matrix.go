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
	groups, matrix := m.groups(), m.emptyMatrix()
	spans := ranges(groups, m.options.Rows)
	var excess [][]int64 // by row and column
	for _, s := range spans {
		row, rowExcess := m.sumRow(groups[s.from:s.to])
		for column, units := range row.Units {
			matrix.Rest[column] -= units
		}
		matrix.Rows, excess = append(matrix.Rows, row), append(excess, rowExcess)
	}
	for i, s := range spans { // Rest is complete now
		row := &matrix.Rows[i]
		m.setErrors(row, groups[s.from:s.to], excess[i], matrix.Rest)
		if m.options.ByBase && row.Keys == 1 && slices.Contains(m.options.Unfold, row.Key) {
			row.WriteShards = m.writeShards(groups[s.from], matrix.Rest)
		}
	}
	return matrix
}

// emptyMatrix returns the matrix with all columns and no rows: Rest is Total.
func (m *Map) emptyMatrix() Matrix {
	matrix := Matrix{
		From: display.Time{Time: m.options.From}, To: display.Time{Time: m.options.To}, Step: display.Duration(m.options.Step), Table: m.options.Table,
		AsOf: display.Time{Time: m.asOf()}, Indexes: []string{}, Rows: []Row{}, Covered: m.covered(),
	}
	matrix.PartitionWCU = m.partitionLimit()
	if m.newest != nil {
		matrix.HotWCU = m.newest.HotRate
	}
	for index, units := range m.indexUnits {
		if units > 0 {
			matrix.Indexes = append(matrix.Indexes, index)
		}
	}
	slices.Sort(matrix.Indexes)
	for _, c := range m.columns {
		matrix.Total = append(matrix.Total, c.total)
	}
	matrix.Rest = slices.Clone(matrix.Total)
	return matrix
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

// windowLength returns the length of the newest window, or the default without windows.
func (m *Map) windowLength() time.Duration {
	if m.newest == nil {
		return defaultWindow
	}
	return m.newest.baseLength()
}

// defaultWindow is the default length of windows.
const defaultWindow = 10 * time.Second

// sumRow returns the sum of groups as a row whose Error is 0. excess is the sum of the keys' [cell.excess] in each column.
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
	var verdicts Verdicts
	for _, g := range groups {
		row.Rate, row.Peak = max(row.Rate, Hundredths(g.rate)), max(row.Peak, g.peak)
		verdicts.join(g.Verdicts)
		for _, l := range g.lines {
			for _, c := range l.cells {
				row.Units[c.column] += c.units
				row.Heaviest[c.column] = max(row.Heaviest[c.column], Hundredths(c.top))
				excess[c.column] += c.excess
			}
		}
	}
	row.setVerdicts(verdicts)
	return row, excess
}

// setErrors sets the row's Error, by which its keys may exceed the row's Units in each column. These units were counted
// in the column's rest, so the rest is a bound as well. excess is that of [Map.sumRow].
func (m *Map) setErrors(row *Row, groups []*rowGroup, excess []int64, rest []uint64) {
	keys, afterDrop := uint64(0), uint64(0) // numbers of keys
	for _, g := range groups {
		for _, l := range g.lines {
			keys++
			if l.afterDrop {
				afterDrop++
			}
		}
	}
	for i, c := range m.columns {
		missing := multiply(c.unlisted, keys) + float64(excess[i]) + multiply(c.dropped, afterDrop)
		row.Error[i] = rest[i]
		if missing < float64(rest[i]) {
			row.Error[i] = uint64(max(0, missing))
		}
	}
}

// multiply returns the approximate product of numbers whose product may exceed 64 bits.
func multiply(a, b uint64) float64 { return float64(a) * float64(b) }
