package hotkey

import (
	"slices"

	"github.com/hotshard/hotshard/internal/heat"
)

// Report is what one window, or one part of it, comes to on one stream shard.
type Report struct {
	Item heat.Item  // the counts, as they are stored
	Rows []heat.Row // the hottest first: certified rate, error, peak, status
	Hot  []heat.Row // those of them that are hot or saturated
}

// judge makes the reports of what was counted of a table, "" for hotshard's own.
func judge(table string, items []heat.Item) (reports []Report) {
	for _, item := range items {
		item.Table = table
		r := Report{Item: item, Rows: heat.Merge([]heat.Item{item})}
		for i := range r.Rows { // a write shard's siblings are on other stream shards, as a rule
			r.Rows[i].Siblings = heat.Siblings{}
		}
		r.Hot = slices.DeleteFunc(slices.Clone(r.Rows), func(row heat.Row) bool { return row.Status < heat.Hot })
		reports = append(reports, r)
	}
	return reports
}

// hides tells whether a key may have been hot of which that is not certain, since the
// counts had no room for all keys: one whose error reaches over the window's budget, or
// one that is not listed.
func (r *Report) hides() bool {
	budget := r.Item.HotRate * r.Item.Window.Seconds()
	for _, k := range r.Item.Keys {
		if float64(k.Units) < budget && float64(k.Units+k.Err) >= budget {
			return true
		}
	}
	return float64(max(r.Item.Rest, r.Item.IndexRest)) >= budget
}

// newlyHot are the reports of running windows, with those keys only that are hot with this
// batch and were not before it.
func newlyHot(running, before []Report) (reports []Report) {
	known := make(map[[2]string]bool)
	for _, report := range before {
		for _, row := range report.Hot {
			known[[2]string{row.Index, row.Key}] = true
		}
	}
	for _, report := range running {
		report.Hot = slices.DeleteFunc(slices.Clone(report.Hot), func(row heat.Row) bool { return known[[2]string{row.Index, row.Key}] })
		if len(report.Hot) > 0 {
			reports = append(reports, report)
		}
	}
	return reports
}
