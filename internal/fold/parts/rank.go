package parts

import (
	"math"
	"math/big"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// Cell has the counts and the bounds of a cell of a histogram. The counts are never negative, although the histogram's
// may be until all records are folded.
type Cell struct {
	Above int64 // number of entries in higher cells
	Own   int64 // number of entries in this cell
	// From (included) and To (excluded) bound the rank keys of the cell's merits. In the highest and the lowest cell, a
	// bound is before or after all rank keys.
	From, To string
}

// Locate returns the cell of a merit.
func (h Histogram) Locate(merit boards.Score) Cell {
	position := MeritOrder(merit.Float())
	c := h.CellAt(position)
	c.From, c.To = h.bounds(position >> h.level)
	return c
}

// CellAt returns the cell of a [MeritOrder], without From and To.
func (h Histogram) CellAt(position uint64) Cell {
	own := position >> h.level
	above := int64(0)
	for cell, n := range h.cells {
		if cell > own {
			above += n
		}
	}
	return Cell{Above: max(0, above), Own: max(0, h.cells[own])}
}

// Rank returns the rank of an entry in the cell, 1 for the first, and the margin by which the true rank may differ. The
// margin is right if the entry is counted in the cell, and the records of all entries are folded. The rank is the middle of
// the cell's ranks, which has the smallest margin.
func (c Cell) Rank() (rank, margin int64) {
	others := max(0, c.Own-1)
	return c.Above + 1 + others/2, others - others/2
}

// bounds returns the rank keys of a cell. Rank keys run from high merits to low.
func (h Histogram) bounds(cell uint64) (from, to string) {
	if cell >= math.MaxUint64>>h.level {
		return "", boundary(cell << h.level) // no cell is higher
	}
	return boundary((cell + 1) << h.level), boundary(cell << h.level)
}

// highest is above the magnitude of all scores.
const highest = 1e18

// boundary returns a text between rank keys: after the rank keys of merits at or above a position in the [MeritOrder], and
// before the rank keys of lower merits.
//
// A float64 stands for all merits that are nearest to it. So the lowest merit at a position is about half-way to the
// previous float64.
func boundary(position uint64) string {
	switch {
	case position > MeritOrder(highest):
		return ""
	case position <= MeritOrder(-highest):
		return schema.LastRankKey
	}
	middle := new(big.Rat).SetFloat64(unorder(position))
	middle.Add(middle, new(big.Rat).SetFloat64(unorder(position-1)))
	middle.Mul(middle, big.NewRat(nanos, 2))
	lowest := new(big.Int).Div(middle.Num(), middle.Denom()) // rounded down
	for MeritOrder(scoreOf(lowest).Float()) < position {
		lowest.Add(lowest, big.NewInt(1))
	}
	return boards.MeritBound(scoreOf(lowest.Sub(lowest, big.NewInt(1))))
}

// nanos is the number of the smallest units in a score of 1.
const nanos = 1_000_000_000

// scoreOf returns the score of a number of smallest units. The score must be below highest.
func scoreOf(smallest *big.Int) boards.Score {
	score, _ := boards.ParseScore(new(big.Rat).SetFrac(smallest, big.NewInt(nanos)).FloatString(9))
	return score
}
