package report

import (
	"cmp"
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

// prune drops the keys with the least units. Their units stay in the column's total.
func (c *column) prune() {
	keys := c.heaviest()
	for _, key := range keys[maxCells:] {
		delete(c.cells, key)
	}
}

func (c *column) heaviest() []string {
	keys := make([]string, 0, len(c.cells))
	for key := range c.cells {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(c.cells[b].total, c.cells[a].total), strings.Compare(a, b))
	})
	return keys
}

// interval returns the 95 % confidence interval of the key's units in the column.
func (c *cell) interval() (low, high float64) {
	if c.variance <= 0 || c.total <= 0 {
		return c.total, c.total
	}
	return around(c.total, c.total*c.total/c.variance)
}
