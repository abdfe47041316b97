package hotkeys_test

import (
	"slices"
	"testing"
)

// TestStreamShardsOfTwoTables checks that stream shards of two tables with the same id have separate heat items
// for the same window, with and without a tumbling window.
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
			t.Errorf("%s: rows %+v, want events at 4 WCU/s and items at 0.3", name, rows)
		}
	}
}

// TestGrowthByTheTablesPartitions checks that a key's growth is bounded by the partitions of its own table.
func TestGrowthByTheTablesPartitions(t *testing.T) {
	f := newFixture(settings())
	f.shards.few = map[string]int{"events": 1}
	f.must(t, batch{writes: repeat("C#a#0", 1900, 1), first: 1, final: true}.payload())
	f.must(t, batch{table: "events", writes: repeat("E#a#2026-01-05#0", 1900, 1), first: 1, final: true}.payload())
	if want := []string{"C#a 1>8", "E#a 1>4"}; !slices.Equal(f.shards.changes, want) {
		t.Errorf("changes %v, want %v\n%s", f.shards.changes, want, f.logs)
	}
}
