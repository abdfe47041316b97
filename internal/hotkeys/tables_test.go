package hotkeys_test

import (
	"slices"
	"testing"
)

// TestStreamShardsOfTwoTables checks that stream shards with one id, in the streams of both tables, have items and
// metrics of their own, also for the same window and without a tumbling window.
func TestStreamShardsOfTwoTables(t *testing.T) {
	for name, payload := range map[string]func(table, key string, records int) []byte{
		"windowed": func(table, key string, records int) []byte {
			return batch{table: table, writes: repeat(key, records, 1), first: 1, final: true}.payload()
		},
		"unwindowed": func(table, key string, records int) []byte {
			return []byte(`{"Records":` + repeat(key, records, 1).json(1) + `,"eventSourceARN":"arn:aws:dynamodb:eu-west-1:1:table/hotshard-` + table + `/stream/1"}`)
		},
	} {
		f := newFixture(settings())
		f.must(t, payload("items", "C#a#0", 3))
		f.must(t, payload("events", "E#a#2026-01-05#0", 40))
		rows := f.rows(t)
		if len(rows) != 2 || rows[0].TableName() != "events" || rows[0].WriteUnitsPerSecond != 4 || rows[1].TableName() != "items" || rows[1].WriteUnitsPerSecond != 0.3 {
			t.Errorf("%s: rows %+v", name, rows)
		}
		f.foldSoon(t)
		units := map[string]float64{}
		for _, d := range f.sink.Data() {
			if d.Name == "WriteUnits" {
				units[d.Dimensions[0].Value] += d.Value
			}
		}
		if units["hotshard-items"] != 3 || units["hotshard-events"] != 40 {
			t.Errorf("%s: write units %v", name, units)
		}
	}
}

// TestGrowthByTheTablesPartitions checks that a key grows by the partitions of its own table, which each table's stream
// has counted.
func TestGrowthByTheTablesPartitions(t *testing.T) {
	f := counting(t, settings(), func(table string) (int, error) { return len(table), nil })
	f.layersTask(t)
	f.shards.few = map[string]int{"events": 1}
	f.must(t, batch{writes: repeat("C#a#0", 900, 1), first: 1, final: true}.payload())
	f.must(t, batch{table: "events", writes: repeat("E#a#2026-01-05#0", 900, 1), first: 1, final: true}.payload())
	slices.Sort(f.shards.changes)
	if want := []string{"C#a 1>4", "E#a 1>4"}; !slices.Equal(f.shards.changes, want) {
		t.Errorf("changes %v, want %v\n%s", f.shards.changes, want, f.logs)
	}
	if len(f.shards.noted) != 2 || f.shards.noted[0][:6] != "items " || f.shards.noted[1][:7] != "events " {
		t.Errorf("noted %v", f.shards.noted)
	}
}
