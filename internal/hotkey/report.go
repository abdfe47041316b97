package hotkey

import (
	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/metrics"
)

// Report is what one window, or one part of it, comes to.
type Report struct {
	Table string     // whose stream it is
	Item  heat.Item  // the counts, as they are stored
	Rows  []heat.Row // saturated keys, then the hottest first: certified rate, error, peak, status
}

// newReport makes the report of one stream shard's counts, which say nothing of the
// siblings of a write shard: those are on others, as a rule.
func newReport(table string, item heat.Item) Report {
	report := Report{Table: table, Item: item, Rows: heat.Merge([]heat.Item{item})}
	for i := range report.Rows {
		report.Rows[i].Siblings = heat.Siblings{}
	}
	return report
}

// hot returns the rows of the hot and the saturated keys, which are not always the
// first ones.
func (r *Report) hot() []heat.Row {
	var hot []heat.Row
	for _, row := range r.Rows {
		if row.Status >= heat.Hot {
			hot = append(hot, row)
		}
	}
	return hot
}

// data makes the report's metrics, at the time of the window's start. Allow says
// whether a base key may have a metric of its own.
func (r *Report) data(allow func(base string) bool) []metrics.Datum {
	hot := r.hot()
	fastest, saturated := 0.0, 0
	for _, row := range r.Rows {
		fastest = max(fastest, row.WriteUnitsPerSecond)
		if row.Status == heat.Saturated {
			saturated++
		}
	}
	data := []metrics.Datum{
		r.datum("HotKeys", float64(len(hot)), metrics.Count),
		r.datum("SaturatedKeys", float64(saturated), metrics.Count),
		r.datum("MaxKeyWriteUnitsPerSecond", fastest, metrics.CountPerSecond),
		r.datum("WriteUnits", float64(r.Item.Units), metrics.Count),
		r.datum("Records", float64(r.Item.Records), metrics.Count),
	}
	sent := make(map[string]bool)
	for _, row := range hot {
		// The hottest partition key of a base key comes first and stands for it.
		base := row.MetricName()
		if sent[base] || !allow(base) {
			continue
		}
		sent[base] = true
		d := r.datum("KeyWriteUnitsPerSecond", row.WriteUnitsPerSecond, metrics.CountPerSecond)
		d.Dimensions = append(d.Dimensions, metrics.Dimension{Name: "Key", Value: base})
		data = append(data, d)
	}
	return data
}

func (r *Report) datum(name string, value float64, unit metrics.Unit) metrics.Datum {
	return metrics.Datum{Name: name, Value: value, Unit: unit, Time: r.Item.Start, Dimensions: tableDimension(r.Table)}
}

func tableDimension(table string) []metrics.Dimension {
	return []metrics.Dimension{{Name: "TableName", Value: table}}
}
