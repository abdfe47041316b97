package query

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// matrix is a response of GET /v1/heat.
type matrix struct {
	From, To, Step string
	AsOf           string  `json:"as_of"`
	PartitionWCU   float64 `json:"partition_wcu"`
	HotWCU         float64 `json:"hot_wcu"`
	Table          string
	Indexes        []string
	Rows           []matrixRow
	Rest, Total    []uint64
	Covered        []float64
}

type matrixRow struct {
	Key, First, Last, Index, Type, Name, Status string
	Keys                                        int
	Rate                                        float64 `json:"write_units_per_second"`
	Units, Error                                []uint64
}

// heat reads a heat map, which must be well formed.
func (r *rig) heat(query string) (m matrix) {
	r.t.Helper()
	mustGet(r.t, r.handler, "/v1/heat"+query, &m)
	if fault := m.fault(); fault != "" {
		r.t.Fatalf("%s: %s", query, fault)
	}
	return m
}

// fault returns what is wrong with any heat map, or "".
func (m *matrix) fault() string {
	from, err := time.Parse(time.RFC3339, m.From)
	to, err2 := time.Parse(time.RFC3339, m.To)
	step, err3 := time.ParseDuration(m.Step)
	if err != nil || err2 != nil || err3 != nil || step < time.Second {
		return fmt.Sprintf("from %q to %q by %q", m.From, m.To, m.Step)
	}
	columns := int(to.Sub(from) / step)
	if len(m.Rest) != columns || len(m.Total) != columns || len(m.Covered) != columns || from.Add(time.Duration(columns)*step) != to {
		return fmt.Sprintf("%d columns from %s to %s by %s", len(m.Total), m.From, m.To, m.Step)
	}
	sum := slices.Clone(m.Rest)
	for i, row := range m.Rows {
		if len(row.Units) != columns || len(row.Error) != columns || row.Keys < 1 || (row.Keys > 1) != (row.First != "") {
			return fmt.Sprintf("row %d: %+v", i, row)
		}
		for c, n := range row.Units {
			sum[c] += n
		}
	}
	if !slices.Equal(sum, m.Total) {
		return fmt.Sprintf("rows and rest add up to %v, not to %v", sum, m.Total)
	}
	return ""
}

func (m *matrix) row(key string) *matrixRow {
	for i := range m.Rows {
		if m.Rows[i].Key == key {
			return &m.Rows[i]
		}
	}
	return &matrixRow{}
}

// window returns a window of ten seconds that starts this many seconds before now. It has five more units of keys that
// are not listed.
func (r *rig) window(ago int, streamShard string, keys ...heat.Key) heat.Item {
	it := heat.Item{
		Start: r.now.Add(-time.Duration(ago) * time.Second), Window: 10 * time.Second, StreamShard: streamShard,
		Limit: 1000, HotRate: 700, Keys: keys, Rest: 1, Records: 10, IndexUnits: map[string]uint64{},
	}
	for _, k := range keys {
		if k.Index == "" {
			it.Units += k.Units
		} else {
			it.IndexUnits[k.Index] += k.Units
		}
	}
	it.Units += 5
	return it
}

// TestHeat checks the default heat map, which has the last 15 minutes in columns of 10 s, and its parameters.
func TestHeat(t *testing.T) {
	r := newRig(t)
	r.now = r.now.Truncate(time.Minute)
	add := func(ago int, streamShard string, keys ...heat.Key) { r.putWindow(r.window(ago, streamShard, keys...)) }
	add(60, "s1", heat.Key{Key: "C#viral#0", Units: 8000, Err: 2}, heat.Key{Key: "C#cold-1#0", Units: 10}, heat.Key{Key: "E#x#2026-01-05#0", Units: 9600})
	add(60, "s2", heat.Key{Key: "C#cold-2#0", Units: 20}, heat.Key{Key: "not a key of hotshard's", Units: 3}, heat.Key{Index: schema.ByRank, Key: "L#b#all#0", Units: 70})
	add(50, "s1", heat.Key{Key: "C#viral#0", Units: 3000})
	m := r.heat("")
	if m.From != r.now.Add(-15*time.Minute).Format(schema.TimeLayout) || m.To != r.now.Format(schema.TimeLayout) || m.Step != "10s" || len(m.Total) != 90 ||
		m.PartitionWCU != 1000 || m.HotWCU != 700 || m.AsOf != r.now.Add(-40*time.Second).Format(schema.TimeLayout) || m.Table != "" {
		t.Errorf("%+v", m)
	}
	if !slices.Equal(m.Indexes, []string{"by_rank"}) {
		t.Errorf("indexes %q, want by_rank", m.Indexes)
	}
	if m.Total[84] != 8000+10+9600+20+3+5+5 || m.Rest[84] != 10 || m.Covered[84] != 1 || m.Total[85] != 3005 || m.Total[86] != 0 || m.Covered[86] != 0 {
		t.Errorf("total %v, rest %v, covered %v", m.Total, m.Rest, m.Covered)
	}
	viral, entity := m.row("C#viral#0"), m.row("E#x#2026-01-05#0")
	if viral.Status != "hot" || viral.Rate != 800 || viral.Type != "counter" || viral.Name != "viral" || viral.Units[84] != 8000 || viral.Error[84] != 3 || viral.Units[85] != 3000 {
		t.Errorf("%+v", viral)
	}
	if entity.Status != "saturated" || entity.Type != "entity" || entity.Name != "x" {
		t.Errorf("%+v", entity)
	}
	if foreign := m.row("not a key of hotshard's"); foreign.Type != "" || foreign.Name != "" || foreign.Status != "normal" {
		t.Errorf("%+v", foreign)
	}
	if m = r.heat("?rows=4"); len(m.Rows) != 4 || m.Rows[0].Key != "C#cold-" || m.Rows[0].Keys != 2 || m.Rows[0].First != "C#cold-1#0" || m.Rows[0].Last != "C#cold-2#0" || m.Rows[0].Name != "" || m.Rows[0].Units[84] != 30 {
		t.Errorf("%+v", m.Rows)
	}
	if m = r.heat("?filter=COLD"); len(m.Rows) != 2 || m.Rest[84] != m.Total[84]-30 || m.Total[84] != 17643 {
		t.Errorf("rows %+v, rest %v", m.Rows, m.Rest)
	}
	if m = r.heat("?index=by_rank"); len(m.Rows) != 1 || m.Rows[0].Type != "board" || m.Rows[0].Name != "b" || m.Rows[0].Index != "by_rank" || m.Total[84] != 70 || m.Total[85] != 0 {
		t.Errorf("%+v", m)
	}
	if m = r.heat("?index=none"); len(m.Rows) != 0 || m.Total[84] != 0 {
		t.Errorf("%+v", m)
	}
}

// TestHeatOfAnotherTable checks that keys of another table are not parsed, and not listed among hotshard's.
func TestHeatOfAnotherTable(t *testing.T) {
	r := newRig(t)
	it := r.window(60, "s1", heat.Key{Key: "C#a#0", Units: 8000, Peak: 800, PeakAt: r.now})
	it.Table = "orders"
	r.putWindow(it)
	if m := r.heat(""); len(m.Rows) != 0 || slices.Max(m.Total) != 0 {
		t.Errorf("%+v", m)
	}
	m := r.heat("?table=orders")
	if len(m.Rows) != 1 || m.Rows[0].Key != "C#a#0" || m.Rows[0].Type != "" || m.Rows[0].Status != "hot" || m.Table != "orders" {
		t.Errorf("%+v", m)
	}
	var out struct{ Keys []HotKey }
	mustGet(t, r.handler, "/v1/hot-keys", &out)
	if k := out.Keys; len(k) != 1 || k[0].Table != "orders" || k[0].Type != "other" || k[0].Name != "C#a#0" || !strings.Contains(k[0].Advice, "Split it across 7 partition keys") {
		t.Errorf("%+v", k)
	}
}

// TestInvalidHeatParameters checks that each invalid parameter is rejected by its name.
func TestInvalidHeatParameters(t *testing.T) {
	r := newRig(t)
	now := r.now.Format(time.RFC3339)
	for query, want := range map[string]string{
		"?from=yesterday":             "query.from",
		"?to=2026":                    "query.to",
		"?from=2999-01-01T00:00:00Z":  "query.from",
		"?from=" + now + "&to=" + now: "query.to",
		"?from=2020-01-01T00:00:00Z&to=2020-01-09T00:00:00Z":         "query.from",
		"?from=0001-01-01T00:00:00Z":                                 "query.from",
		"?from=0001-01-01T00:00:00Z&to=9999-12-31T23:59:59Z":         "query.from",
		"?to=9999-12-31T23:59:59Z":                                   "query.to",
		"?to=0000-01-01T00:00:00Z":                                   "query.to",
		"?from=0000-01-01T00:00:00Z&to=0000-01-01T01:00:00Z&step=7s": "query.to",
		"?step=0s":     "query.step",
		"?step=11m":    "query.step",
		"?step=1500ms": "query.step",
		"?step=soon":   "query.step",
		"?from=2020-01-01T00:00:00Z&to=2020-01-01T01:00:00Z&step=2s": "query.step",
		"?rows=0":                              "query.rows",
		"?rows=257":                            "query.rows",
		"?rows=x":                              "query.rows",
		"?table=" + strings.Repeat("t", 256):   "query.table",
		"?index=" + strings.Repeat("t", 256):   "query.index",
		"?filter=" + strings.Repeat("t", 2049): "query.filter",
	} {
		r.wantInvalid("/v1/heat"+query, want)
	}
}
