package parts

import (
	"maps"
	"math"

	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// MaxCells bounds the cells of a stored histogram. With more different scores than that, half to all
// of the cells are in use. docs/performance/ranks.txt has the cost and precision of this number.
const MaxCells = 2000

// MeritOrder maps numbers to integers of the same order: the bits of a float64, adjusted for the sign.
func MeritOrder(f float64) uint64 {
	bits := math.Float64bits(f)
	if bits>>63 == 1 {
		return ^bits
	}
	return bits | 1<<63
}

// unorder is the inverse of MeritOrder.
func unorder(n uint64) float64 {
	if n>>63 == 1 {
		return math.Float64frombits(n &^ (1 << 63))
	}
	return math.Float64frombits(^n)
}

// Histogram counts entries by cells of their merits. A merit's cell is its [MeritOrder] without the
// lowest level bits. So each doubling of the merit is divided into about equal cells.
//
// A fragment may have negative counts, for entries that were added in another fragment. The zero
// Histogram counts no entries.
type Histogram struct {
	level uint
	cells map[uint64]int64 // no zeros
	late  int64
}

// Clone returns a copy that may be changed.
func (h Histogram) Clone() Histogram { return Histogram{h.level, maps.Clone(h.cells), h.late} }

// Late returns how many entries have an outdated row in the index.
func (h Histogram) Late() int64 { return h.late }

// AddLate counts n more entries with an outdated row, or fewer.
func (h *Histogram) AddLate(n int64) { h.late += n }

// Cells returns how many cells have a count.
func (h Histogram) Cells() int { return len(h.cells) }

// Total returns how many entries are counted.
func (h Histogram) Total() (n int64) {
	for _, count := range h.cells {
		n += count
	}
	return n
}

// Add counts n more entries, or fewer, at a place in the [MeritOrder] of merits. It does not bound the cells:
// see Limit.
func (h *Histogram) Add(place uint64, n int64) { h.addToCell(place>>h.level, n) }

// AddMerit is Add for entries with a [boards.Place.Merit].
func (h *Histogram) AddMerit(merit boards.Score, n int64) { h.Add(MeritOrder(merit.Float()), n) }

func (h *Histogram) addToCell(cell uint64, n int64) {
	if h.cells == nil {
		h.cells = map[uint64]int64{}
	}
	h.cells[cell] += n
	if h.cells[cell] == 0 {
		delete(h.cells, cell)
	}
}

// Limit raises the level until there are at most cells cells; cells is 1 or more.
func (h *Histogram) Limit(cells int) {
	for len(h.cells) > cells {
		h.raise(h.level + 1)
	}
}

// raise joins cells into those of a higher level.
func (h *Histogram) raise(level uint) {
	joined := Histogram{level: level, late: h.late}
	for cell, n := range h.cells {
		joined.addToCell(cell>>(level-h.level), n)
	}
	*h = joined
}

// Merge adds another fragment. The higher level applies to the sum.
func (h *Histogram) Merge(other Histogram) {
	if h.level < other.level {
		h.raise(other.level)
	}
	for cell, n := range other.cells {
		h.addToCell(cell>>(h.level-other.level), n)
	}
	h.late += other.late
}

// Same reports whether two histograms count the same, at the level of the coarser one.
func (h Histogram) Same(other Histogram) bool {
	level := max(h.level, other.level)
	h.raise(level)
	other.raise(level)
	return h.late == other.late && maps.Equal(h.cells, other.cells)
}
