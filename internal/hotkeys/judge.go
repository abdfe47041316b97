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
	Hot  []heat.KeyHeat // keys that are hot or saturated, the hottest first
}

// judgeStream returns a report for each item of a source's stream.
func judgeStream(source *count.Source, items []heat.Item) (reports []Report) {
	for _, item := range items {
		item.Table, item.Own = tableOf(source), source.Own
		hot := slices.DeleteFunc(heat.Merge([]heat.Item{item}), func(row heat.KeyHeat) bool { return row.Status < heat.Hot })
		for i := range hot { // a write shard's siblings are usually on other stream shards
			hot[i].Siblings = heat.Siblings{}
		}
		reports = append(reports, Report{item, hot})
	}
	return reports
}

// tableOf returns the [heat.Item.Table] of a source's items, which is "" for hotshard's own tables.
func tableOf(source *count.Source) string {
	if source.Own != "" {
		return ""
	}
	return source.Table
}

// mayHideHot reports whether a key that is not certainly hot may be hot: a listed one with its error, or an unlisted
// one.
func (r *Report) mayHideHot() bool {
	hotUnits := r.Item.HotRate * r.Item.Window.Seconds()
	for _, k := range r.Item.Keys {
		if float64(k.Units) < hotUnits && float64(k.Units+k.Err) >= hotUnits {
			return true
		}
	}
	return float64(max(r.Item.Rest, r.Item.IndexRest)) >= hotUnits
}

// newlyHot returns the reports of running windows, with only the keys that became hot with this batch.
func newlyHot(running, before []Report) (reports []Report) {
	type key struct {
		window     time.Time
		index, key string
	}
	keyOf := func(row *heat.KeyHeat) key { return key{row.Start, row.Index, row.Key} }
	known := make(map[key]bool)
	for _, report := range before {
		for _, row := range report.Hot {
			known[keyOf(&row)] = true
		}
	}
	for _, report := range running {
		report.Hot = slices.DeleteFunc(slices.Clone(report.Hot), func(row heat.KeyHeat) bool { return known[keyOf(&row)] })
		if len(report.Hot) > 0 {
			reports = append(reports, report)
		}
	}
	return reports
}
