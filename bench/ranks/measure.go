package ranks

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/rollup/board"
)

// cellBounds are the cells that histograms are tried with, the most first. budgets
// are how many entries of the own cell are counted at most.
var (
	cellBounds = []int{8000, 4000, 2000, 1000, 500, 250}
	budgets    = []int64{1000, 5000, 50_000}
	samples    = []int{1, 8}
)

func sampleName(shards int) string {
	return fmt.Sprintf("count of %d of %d write shards", shards, indexShards)
}

// compare asks all methods, and prints a line for each.
func (s *simulated) compare(w io.Writer) error {
	s.draw()
	methods := []method{}
	for _, cells := range cellBounds {
		h, bytes := s.histogram(cells)
		methods = append(methods, s.byHistogram(h, bytes, fmt.Sprintf("histogram, %d cells", cells), 0))
		if cells == board.MaxCells {
			for _, budget := range budgets {
				name := fmt.Sprintf("the same, and own cell counted up to %d", budget)
				methods = append(methods, s.byHistogram(h, bytes, name, budget))
			}
		}
	}
	methods = append(methods, s.byCount())
	for _, shards := range samples {
		methods = append(methods, s.bySample(shards))
	}
	for _, m := range methods {
		if err := s.report(w, m); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// report asks one method, and holds the histogram to what it states.
func (s *simulated) report(w io.Writer, m method) error {
	var errors, stated, units []float64
	var bytes, total float64
	for _, i := range s.asked {
		a := m.ask(i)
		off := math.Abs(a.rank - float64(i+1))
		if m.writes > 0 && off > a.stated {
			return fmt.Errorf("rank %.0f +- %.0f of player %d", a.rank, a.stated, i+1)
		}
		errors, stated, units = append(errors, off), append(stated, a.stated), append(units, a.units)
		bytes += a.bytes / questions
		total += a.units / questions
	}
	for _, list := range [][]float64{errors, stated, units} {
		slices.Sort(list)
	}
	_, err := fmt.Fprintf(w, "| %d | %s | %.0f | %.0f | %.0f | %.3f %% | %.0f | %.1f | %.1f | %.0f | %.0f | %s |\n", s.n, m.name,
		rig.Quantile(errors, 0.5), rig.Quantile(errors, 0.99), errors[len(errors)-1], 100*rig.Quantile(errors, 0.99)/float64(s.n), rig.Quantile(stated, 0.99),
		total, rig.Quantile(units, 0.99), bytes, m.writes, m.fresh)
	return err
}
