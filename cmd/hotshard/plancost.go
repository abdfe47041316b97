package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/hotshard/hotshard/internal/tool/bill"
	"github.com/hotshard/hotshard/internal/tool/load"
)

// checkDay validates the flags of a day's cost.
func (c *PlanCmd) checkDay() error {
	switch {
	case c.Events != nil && !(*c.Events >= 0 && *c.Events <= bill.MaxWrites):
		return fmt.Errorf("--events %v: want 0 to %.0f", *c.Events, bill.MaxWrites)
	case c.Events == nil && c.Increments != 0:
		return errors.New("--increments needs --events, which may be 0")
	case !(c.Increments >= 0 && c.Increments <= bill.MaxWrites):
		return fmt.Errorf("--increments %v: want 0 to %.0f", c.Increments, bill.MaxWrites)
	case c.Days < 1 || c.Days > 3650:
		return fmt.Errorf("--days %d: want 1 to 3650", c.Days)
	case c.Targets < 1 || c.Targets > bill.MaxTargets:
		return fmt.Errorf("--targets %d: want 1 to %.0f", c.Targets, bill.MaxTargets)
	case c.StreamShards < 0 || c.StreamShards > bill.MaxStreamShards:
		return fmt.Errorf("--stream-shards %d: want 1 to %.0f", c.StreamShards, bill.MaxStreamShards)
	case c.Batch < 1 || c.Batch > load.MaxBatch:
		return fmt.Errorf("--batch %d: want 1 to %d", c.Batch, load.MaxBatch)
	}
	return nil
}

// dailyCost has the cost of a deployment's first day and of a later one.
type dailyCost struct {
	Events     float64     `json:"events_per_second"`
	Increments float64     `json:"increments_per_second"`
	Days       []dayOfCost `json:"days"`
}

type dayOfCost struct {
	bill.Day
	Total float64 `json:"total"`
}

// cost returns the cost of the first day and of the day of --days. An idle deployment has one day.
func (c *PlanCmd) cost() *dailyCost {
	p := bill.Default()
	p.Tables = c.prices()
	cost := &dailyCost{Events: *c.Events, Increments: c.Increments}
	for _, day := range slices.Compact([]int{1, c.Days}) {
		d := bill.Estimate(bill.Load{
			Events: *c.Events, Increments: c.Increments, ItemBytes: c.ItemBytes, Batch: c.Batch,
			Targets: c.Targets, Uniform: c.Uniform, Provisioned: c.Provisioned, StreamShards: c.StreamShards, OneReader: c.Readers == "one",
		}, day, p)
		total := round(d.Total(), 100)
		for i := range d.Lines {
			d.Lines[i].USD = round(d.Lines[i].USD, 1000)
		}
		cost.Days = append(cost.Days, dayOfCost{d, total})
		if c.Increments+*c.Events == 0 {
			break
		}
	}
	return cost
}

// rows returns the rows of a table: a head, the lines of all days, the sums, and the recommended settings and warm throughput, in write
// units, for each day.
func (c *dailyCost) rows() [][]any {
	last := c.Days[len(c.Days)-1]
	rows := [][]any{{"a day's", fmt.Sprintf("based on, for day %d", last.Day.Day)}}
	for _, d := range c.Days {
		rows[0] = append(rows[0], fmt.Sprintf("USD on day %d", d.Day.Day))
	}
	add := func(item, basis string, of func(d dayOfCost) any) {
		row := []any{item, basis}
		for _, d := range c.Days {
			row = append(row, of(d))
		}
		rows = append(rows, row)
	}
	for _, first := range c.Days[0].Lines {
		add(first.Item, cmp.Or(lineOf(last, first.Item).Basis, first.Basis), func(d dayOfCost) any {
			return fmt.Sprintf("%.2f", lineOf(d, first.Item).USD)
		})
	}
	add("sum", "without the callers' reads", func(d dayOfCost) any { return fmt.Sprintf("%.2f", d.Total) })
	if last.Settings.StreamShards == 0 {
		return rows
	}
	for _, setting := range []struct {
		key string
		of  func(s bill.Settings) int
	}{
		{"streamShards", func(s bill.Settings) int { return s.StreamShards }},
		{"accountConcurrency", func(s bill.Settings) int { return s.AccountConcurrency }},
		{"peakWrites", func(s bill.Settings) int { return s.PeakWrites }},
		{"warm throughput of events", func(s bill.Settings) int { return s.WarmEvents }},
		{"warm throughput of items", func(s bill.Settings) int { return s.WarmItems }},
		{"warm throughput of rollups", func(s bill.Settings) int { return s.WarmRollups }},
	} {
		if setting.of(last.Settings) > 0 {
			add(setting.key, "", func(d dayOfCost) any { return setting.of(d.Settings) })
		}
	}
	return rows
}

// lineOf returns a day's line, or an empty one.
func lineOf(d dayOfCost, item string) (line bill.Line) {
	if at := slices.IndexFunc(d.Lines, func(l bill.Line) bool { return l.Item == item }); at >= 0 {
		line = d.Lines[at]
	}
	return line
}
