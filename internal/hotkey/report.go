package hotkey

import (
	"slices"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/metrics"
)

// Report is what one window, or one part of it, comes to.
type Report struct {
	Table string     // whose stream it is
	Item  heat.Item  // the counts, as they are stored
	Rows  []heat.Row // the hottest first: certified rate, error, peak, status

	running bool // the window goes on
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

// hot returns the rows of the hot and the saturated keys.
func (r *Report) hot() []heat.Row {
	return slices.DeleteFunc(slices.Clone(r.Rows), func(row heat.Row) bool { return row.Status < heat.Hot })
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

// data makes the report's metrics but for those of single keys, at the time of the
// window's start.
func (r *Report) data() []metrics.Datum {
	fastest, saturated, crowded := 0.0, 0, 0
	for _, row := range r.Rows {
		fastest = max(fastest, row.WriteUnitsPerSecond)
		if row.Status == heat.Saturated {
			saturated++
		}
	}
	if r.Item.Crowd().Keys > 0 {
		crowded = 1
	}
	return []metrics.Datum{
		r.datum("HotKeys", float64(len(r.hot())), metrics.Count),
		r.datum("SaturatedKeys", float64(saturated), metrics.Count),
		r.datum("HotPartitions", float64(crowded), metrics.Count),
		r.datum("MaxKeyWriteUnitsPerSecond", fastest, metrics.CountPerSecond),
		r.datum("WriteUnits", float64(r.Item.Units), metrics.Count),
		r.datum("Records", float64(r.Item.Records), metrics.Count),
	}
}

// keys makes the metrics of single keys, of which name gives the names; not of those
// that it doesn't name.
func (r *Report) keys(rows []heat.Row, name func(*heat.Row) (string, bool)) (data []metrics.Datum) {
	sent := make(map[string]bool)
	for _, row := range rows {
		// The hottest partition key of a base key comes first and stands for it.
		base := row.MetricName()
		if sent[base] {
			continue
		}
		sent[base] = true
		key, ok := name(&row)
		if !ok {
			continue
		}
		d := r.datum("KeyWriteUnitsPerSecond", row.WriteUnitsPerSecond, metrics.CountPerSecond)
		d.Dimensions = append(d.Dimensions, metrics.Dimension{Name: "Key", Value: key})
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
