package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// column has the estimates of a column.
type column struct {
	cells map[string]*cell
	total float64 // estimate
	any   bool    // some of its time was read
}

// cell is a key in a column.
type cell struct {
	total    float64 // estimate
	variance float64 // of the estimate
	writes   float64 // number of writes that were read
	peak     float64 // units a second in its heaviest slice, a lower bound
	peakAt   time.Time
}

// maxCells is the maximum number of keys that a column counts singly.
const maxCells = 4000

func (c *column) cell(key string) *cell {
	if c.cells[key] == nil {
		c.cells[key] = &cell{}
	}
	return c.cells[key]
}

// prune drops the last keys of m in an order, so that most are left, if there are twice as many.
func prune[K comparable, V any](m map[K]V, most int, compare func(a, b K) int) {
	if len(m) > 2*most {
		for _, key := range slices.SortedFunc(maps.Keys(m), compare)[most:] {
			delete(m, key)
		}
	}
}

// heaviest returns the keys, those with the most units first.
func (c *column) heaviest() []string { return slices.SortedFunc(maps.Keys(c.cells), c.compare) }

func (c *column) compare(a, b string) int {
	return cmp.Or(cmp.Compare(c.cells[b].total, c.cells[a].total), strings.Compare(a, b))
}

// interval returns the 95 % confidence interval of the key's units in the column.
func (c *cell) interval() (low, high float64) {
	if c.variance <= 0 || c.total <= 0 {
		return c.total, c.total
	}
	return around(c.total, c.total*c.total/c.variance)
}
