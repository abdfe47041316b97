package board

import (
	"maps"
	"math"

	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// MaxCells is how many cells a stored histogram has at most. Half to all of them
// are in use when there are more different scores than that. See
// docs/performance/ranks.txt for what the number costs and gives.
const MaxCells = 2000

// Order maps numbers to integers of the same order: the bits of a float64, with the
// sign turned round.
func Order(f float64) uint64 {
	bits := math.Float64bits(f)
	if bits>>63 == 1 {
		return ^bits
	}
	return bits | 1<<63
}

// unorder is the inverse of Order.
func unorder(n uint64) float64 {
	if n>>63 == 1 {
		return math.Float64frombits(n &^ (1 << 63))
	}
	return math.Float64frombits(^n)
}

// Histogram counts entries by cells of their scores. A cell is what scores have in
// common when the level's number of low bits is left out of their [Order]: about
// equal parts of each doubling of the score.
//
// A part of it may have counts below 0, for entries that came by another part. The
// zero Histogram counts none.
type Histogram struct {
	level uint
	cells map[uint64]int64 // no zeros
}

// Clone returns a copy that may be changed.
func (h Histogram) Clone() Histogram { return Histogram{h.level, maps.Clone(h.cells)} }

// Cells is how many cells have a count.
func (h Histogram) Cells() int { return len(h.cells) }

// Total is how many entries are counted.
func (h Histogram) Total() (n int64) {
	for _, count := range h.cells {
		n += count
	}
	return n
}

// Add counts n entries more, or fewer, at a place in the [Order] of scores. Nothing
// bounds the cells but Limit.
func (h *Histogram) Add(place uint64, n int64) { h.count(place>>h.level, n) }

// AddScore is Add for entries with a score.
func (h *Histogram) AddScore(s boards.Score, n int64) { h.Add(Order(s.Float()), n) }

func (h *Histogram) count(cell uint64, n int64) {
	if h.cells == nil {
		h.cells = map[uint64]int64{}
	}
	if h.cells[cell] += n; h.cells[cell] == 0 {
		delete(h.cells, cell)
	}
}

// Limit raises the level until there are at most so many cells, 1 or more.
func (h *Histogram) Limit(cells int) {
	for len(h.cells) > cells {
		h.raise(h.level + 1)
	}
}

// raise joins cells to those of a higher level.
func (h *Histogram) raise(level uint) {
	joined := Histogram{level: level}
	for cell, n := range h.cells {
		joined.count(cell>>(level-h.level), n)
	}
	*h = joined
}

// Merge takes in another part. The higher level counts.
func (h *Histogram) Merge(other Histogram) {
	if h.level < other.level {
		h.raise(other.level)
	}
	for cell, n := range other.cells {
		h.count(cell>>(h.level-other.level), n)
	}
}

// Same tells whether two histograms count the same, as far as the coarser of them can
// tell.
func (h Histogram) Same(other Histogram) bool {
	level := max(h.level, other.level)
	h.raise(level)
	other.raise(level)
	return maps.Equal(h.cells, other.cells)
}
