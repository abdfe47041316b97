package heatview

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	pretty "github.com/jedib0t/go-pretty/v6/text"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/tool/terminal"
)

// column is a column of the list of keys. The key's column has the remaining width.
type column struct {
	title   string
	width   int
	right   bool // aligned right, for numbers
	cell    func(s *screen, k *viewKey) string
	compare func(a, b viewKey) int // the order of keys by this column
}

func byRate(a, b viewKey) int {
	return cmp.Or(cmp.Compare(b.Current, a.Current), cmp.Compare(b.peak, a.peak), byName(a, b))
}

// byError orders keys by the error of their current rates, the largest first.
func byError(a, b viewKey) int {
	aError, _ := a.currentError()
	bError, _ := b.currentError()
	return cmp.Compare(bError, aError)
}

func byName(a, b viewKey) int {
	return cmp.Or(strings.Compare(a.id.key, b.id.key), strings.Compare(a.id.index, b.id.index), strings.Compare(a.id.table, b.id.table))
}

// byStatus orders hot keys before those that have cooled, and these before all others.
func byStatus(a, b viewKey) int {
	return cmp.Or(cmp.Compare(b.Now, a.Now), b.CooledAt().Compare(a.CooledAt()))
}

func share(k *viewKey) float64 { return k.Current / k.row.Limit }

// all has all columns.
var all = []column{
	{"WCU/S", 8, true, func(_ *screen, k *viewKey) string { return rateText(k.Current) }, byRate},
	{"±", 6, true, func(_ *screen, k *viewKey) string {
		most, ok := k.currentError()
		if !ok {
			return ""
		}
		return rateText(math.Ceil(10*most) / 10)
	}, byError},
	{"LIMIT", 6, true, func(_ *screen, k *viewKey) string { return percent(share(k)) }, func(a, b viewKey) int { return cmp.Compare(share(&b), share(&a)) }},
	{"PEAK", 7, true, func(_ *screen, k *viewKey) string { return heat.Grouped(float64(k.peak)) }, func(a, b viewKey) int { return cmp.Compare(b.peak, a.peak) }},
	{"N", 4, true, func(_ *screen, k *viewKey) string {
		if k.shards == 0 {
			return ""
		}
		return fmt.Sprint(k.shards)
	}, func(a, b viewKey) int { return cmp.Compare(b.shards, a.shards) }},
	{"STATUS", 9, false, func(_ *screen, k *viewKey) string { return k.statusText() }, byStatus},
	{"TREND", 8, false, func(s *screen, k *viewKey) string { return spark(k.rates, k.row.Limit, s.trend()) }, func(a, b viewKey) int { return cmp.Compare(b.rise(), a.rise()) }},
	{"INDEX", 12, false, func(_ *screen, k *viewKey) string { return terminal.Visible(k.id.index) }, func(a, b viewKey) int { return strings.Compare(a.id.index, b.id.index) }},
	{"KEY", 0, false, func(s *screen, k *viewKey) string { return terminal.Visible(s.named(k.id.key)) }, byName},
}

// trend returns the number of windows in the trend.
func (s *screen) trend() int {
	switch {
	case s.width >= 160:
		return 40
	case s.width >= 110:
		return 20
	}
	return 8
}

// columns returns the columns that fit the width and have a value for any of these keys.
func (s *screen) columns(keys []viewKey) (shown []column) {
	left := s.width - 2
	for _, c := range all {
		switch c.title {
		case "N":
			if !slices.ContainsFunc(keys, func(k viewKey) bool { return k.shards > 0 }) {
				continue
			}
		case "INDEX":
			if !slices.ContainsFunc(keys, func(k viewKey) bool { return k.id.index != "" }) {
				continue
			}
		case "±":
			if s.width < 100 {
				continue
			}
		case "PEAK", "TREND":
			if s.width < 60 {
				continue
			}
		}
		if c.title == "TREND" {
			c.width = s.trend()
		}
		left -= c.width + 1
		shown = append(shown, c)
	}
	shown[len(shown)-1].width = max(8, left+1)
	return shown
}

// line returns a key's line.
func (s *screen) line(columns []column, k *viewKey) string {
	cells := make([]string, len(columns))
	for i, c := range columns {
		cells[i] = c.fit(c.cell(s, k))
	}
	return strings.Join(cells, " ")
}

// header returns the line of titles. The sorted column's title has an arrow.
func (s *screen) header(columns []column, sorted string, reversed bool) string {
	cells := make([]string, len(columns))
	for i, c := range columns {
		title := c.title
		if title == sorted {
			title += map[bool]string{false: "▼", true: "▲"}[reversed]
		}
		cells[i] = c.fit(title)
	}
	return strings.Join(cells, " ")
}

// fit cuts or pads a text to the column's width.
func (c *column) fit(text string) string {
	if c.right {
		return right(text, c.width)
	}
	return pretty.Pad(terminal.Cut(text, c.width), c.width, ' ')
}

// rise returns the difference between the current rate and the mean of the windows before.
func (k *viewKey) rise() float64 {
	var sum float64
	n := max(len(k.rates)-1, 0)
	before := k.rates[max(0, n-5):n]
	for _, r := range before {
		sum += r
	}
	return k.Current - sum/float64(max(len(before), 1))
}
