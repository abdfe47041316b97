package hotkeys

import (
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/heat/count"
)

// Report is the result of one window, or of one batch's share of it, on one stream shard.
type Report struct {
	Item heat.Item      // the counts, as they are stored
	Rows []heat.KeyHeat // the hottest first: certified rate, error, peak, status
	Hot  []heat.KeyHeat // the rows that are hot or saturated
}

// judge makes reports of the items of a table's stream.
func judge(source *count.Source, items []heat.Item) (reports []Report) {
	for _, item := range items {
		item.Table, item.Own = tableOf(source), source.Own
		r := Report{Item: item, Rows: heat.Merge([]heat.Item{item})}
		for i := range r.Rows { // a write shard's siblings are usually on other stream shards
			r.Rows[i].Siblings = heat.Siblings{}
		}
		r.Hot = slices.DeleteFunc(slices.Clone(r.Rows), func(row heat.KeyHeat) bool { return row.Status < heat.Hot })
		reports = append(reports, r)
	}
	return reports
}

// tableOf returns [heat.Item.Table] of a source's items.
func tableOf(source *count.Source) string {
	if source.Own != "" {
		return ""
	}
	return source.Table
}

// mayHideHot reports whether a key may be hot without being certainly hot. Either its error exceeds the window's
// budget, or it is not listed.
func (r *Report) mayHideHot() bool {
	budget := r.Item.HotRate * r.Item.Window.Seconds()
	for _, k := range r.Item.Keys {
		if float64(k.Units) < budget && float64(k.Units+k.Err) >= budget {
			return true
		}
	}
	return float64(max(r.Item.Rest, r.Item.IndexRest)) >= budget
}

// newlyHot returns the reports of running windows with only those keys that became hot with this batch.
func newlyHot(running, before []Report) (reports []Report) {
	type key struct {
		window     time.Time
		index, key string
	}
	known := make(map[key]bool)
	for _, report := range before {
		for _, row := range report.Hot {
			known[key{row.Start, row.Index, row.Key}] = true
		}
	}
	for _, report := range running {
		report.Hot = slices.DeleteFunc(slices.Clone(report.Hot), func(row heat.KeyHeat) bool { return known[key{row.Start, row.Index, row.Key}] })
		if len(report.Hot) > 0 {
			reports = append(reports, report)
		}
	}
	return reports
}
