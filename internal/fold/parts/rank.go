package parts

import (
	"math"
	"math/big"

	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// Cell is a cell of a histogram, with what other cells count above it.
type Cell struct {
	Above int64 // entries in higher cells
	Own   int64 // entries in this cell
	// From (included) and To (excluded) bound the rank keys of places with a merit of this cell. In the
	// first and the last cell, a bound is before or after all rank keys.
	From, To string
}

// Locate returns the cell of a merit. Its counts are never negative, although those of fragments may
// be until all records are folded.
func (h Histogram) Locate(merit boards.Score) Cell {
	place := MeritOrder(merit.Float())
	c := h.CellAt(place)
	c.From, c.To = h.bounds(place >> h.level)
	return c
}

// CellAt returns the cell of a place in the [MeritOrder] of merits, without rank keys.
func (h Histogram) CellAt(place uint64) (c Cell) {
	own := place >> h.level
	for cell, n := range h.cells {
		if cell > own {
			c.Above += n
		}
	}
	return Cell{Above: max(0, c.Above), Own: max(0, h.cells[own])}
}

// Rank returns the rank of an entry in the cell, 1 for the first, and the margin by which the true rank may differ. The
// margin is right if the entry is counted in the cell, and the records of all entries are folded.
//
// The rank is the middle of the cell, since this has the smallest margin that always holds. A guess from the merit's position
// in the cell would mostly be nearer.
func (c Cell) Rank() (rank, margin int64) {
	others := max(0, c.Own-1)
	return c.Above + 1 + others/2, others - others/2
}

// bounds returns the rank keys of a cell. Rank keys run from high merits to low.
func (h Histogram) bounds(cell uint64) (from, to string) {
	if cell >= math.MaxUint64>>h.level {
		return "", boundary(cell << h.level) // the last cell has no next
	}
	return boundary((cell + 1) << h.level), boundary(cell << h.level)
}

// beyond sorts after all rank keys, which begin with a digit.
const beyond = "~"

// highest is above the magnitude of all scores.
const highest = 1e18

// boundary returns a text between rank keys: after the rank keys of merits at or above a place in the [MeritOrder], and
// before those of lower merits.
//
// A float64 stands for all merits that are nearest to it. So the lowest merit at a place is about
// half-way to the previous float64.
func boundary(place uint64) string {
	switch {
	case place > MeritOrder(highest):
		return ""
	case place <= MeritOrder(-highest):
		return beyond
	}
	middle := new(big.Rat).SetFloat64(unorder(place))
	middle.Add(middle, new(big.Rat).SetFloat64(unorder(place-1)))
	middle.Mul(middle, big.NewRat(nanos, 2))
	lowest := new(big.Int).Div(middle.Num(), middle.Denom()) // rounded down
	for MeritOrder(scoreOf(lowest).Float()) < place {
		lowest.Add(lowest, big.NewInt(1))
	}
	return boards.MeritBound(scoreOf(lowest.Sub(lowest, big.NewInt(1))))
}

// nanos is the number of the smallest units in a score of 1.
const nanos = 1_000_000_000

// scoreOf returns the score of so many smallest units, which must be less than highest.
func scoreOf(smallest *big.Int) boards.Score {
	score, _ := boards.ParseScore(new(big.Rat).SetFrac(smallest, big.NewInt(nanos)).FloatString(9))
	return score
}
