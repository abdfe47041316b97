package parts

import (
	"maps"
	"math"

	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// MaxCells bounds the cells of a stored histogram. A histogram of more different scores has 1,000 to 2,000 cells.
// docs/performance/ranks.txt has the cost and precision of this bound.
const MaxCells = 2000

// MeritOrder returns a merit's position: an integer, such that a higher merit has a higher position.
func MeritOrder(f float64) uint64 {
	bits := math.Float64bits(f)
	if bits>>63 == 1 {
		return ^bits
	}
	return bits | 1<<63
}

// unorder is the inverse of MeritOrder.
func unorder(position uint64) float64 {
	if position>>63 == 1 {
		return math.Float64frombits(position &^ (1 << 63))
	}
	return math.Float64frombits(^position)
}

// Histogram counts entries by cells of their merits. A merit's cell is its [MeritOrder] without the lowest bits. So the
// merits between a number and its double are divided into cells of about equal width.
//
// A fragment may have negative counts, for entries that were added in another fragment. The zero Histogram counts no
// entries.
type Histogram struct {
	level uint             // number of the bits that are left out
	cells map[uint64]int64 // number of entries by cell; no zeros
	late  int64            // number of entries with an outdated row in the index
}

// Clone returns a copy that may be changed.
func (h Histogram) Clone() Histogram { return Histogram{h.level, maps.Clone(h.cells), h.late} }

// Late returns how many entries have an outdated row in the index.
func (h Histogram) Late() int64 { return h.late }

// AddLate counts n more entries with an outdated row, or fewer for a negative n.
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

// Add counts n more entries, or fewer for a negative n, at a [MeritOrder]. It may add a cell: see Limit.
func (h *Histogram) Add(position uint64, n int64) { h.addToCell(position>>h.level, n) }

// AddMerit is Add for entries with this [boards.Place.Merit].
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

// Limit joins neighbouring cells until there are at most maxCells, which is 1 or more.
func (h *Histogram) Limit(maxCells int) {
	for len(h.cells) > maxCells {
		h.raiseTo(h.level + 1)
	}
}

// raiseTo joins cells into the larger cells of a higher level.
func (h *Histogram) raiseTo(level uint) {
	joined := Histogram{level: level, late: h.late}
	for cell, n := range h.cells {
		joined.addToCell(cell>>(level-h.level), n)
	}
	*h = joined
}

// Merge adds another fragment. The sum has the larger cells of the two.
func (h *Histogram) Merge(other Histogram) {
	if h.level < other.level {
		h.raiseTo(other.level)
	}
	for cell, n := range other.cells {
		h.addToCell(cell>>(h.level-other.level), n)
	}
	h.late += other.late
}

// Same reports whether two histograms have the same counts in the larger cells of the two.
func (h Histogram) Same(other Histogram) bool {
	level := max(h.level, other.level)
	h.raiseTo(level)
	other.raiseTo(level)
	return h.late == other.late && maps.Equal(h.cells, other.cells)
}
