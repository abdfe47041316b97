package console

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// settle lets the charts come to rest before a picture is taken.
const settle = 300 * time.Millisecond

// sampleReport is a day with a storm.
func sampleReport() object {
	to := noon
	from := to.Add(-24 * time.Hour)
	heat := viral(from, to, 144)
	for i, covered := range heat["covered"].([]float64) {
		heat["covered"].([]float64)[i] = 0.02 * math.Ceil(covered)
	}
	storm := func(kind, key string, at time.Duration, rate float64) object {
		return object{
			"kind": kind, "from": stamp(from.Add(at)), "to": stamp(from.Add(at + 4*time.Minute)), "key": key, "keys": 1, "write_units_per_second": rate, "low": rate * 0.94, "high": rate * 1.07,
			"advice": "spread it over 3 partition keys",
		}
	}
	return object{
		"table": "orders", "where": "eu-central-1", "from": stamp(from), "to": stamp(to), "made": stamp(to), "version": "0.9.0",
		"heat":    heat,
		"summary": []string{"Two keys of orders were over the threshold of 700 write units a second, C#video/7#1 for 9 hours.", "The table as a whole took 3,100 a second at most; no index was hot."},
		"storms":  []object{storm("one key", "C#video/7#1", 13*time.Hour, 1480.2), storm("a prefix", "C#page/", 3*time.Hour, 1210), storm("rising sort keys", "E#sensor-03", 7*time.Hour, 980)},
		"splits":  []object{{"time": stamp(from.Add(14 * time.Hour)), "parent": "shardId-00000001763850000000-7d1c2f30", "children": 2}},
		"todo":    []string{"C#video/7#1: spread its writes over 3 partition keys.", "C#page/: write in another order than that of its keys."},
		"read":    object{"share": 0.02, "records": 123456, "slices": 1800, "stream_shards": 12, "calls": 5400, "note": "Slices of 2 s, at random times of each minute."},
		"cost":    object{"calls": object{"GetRecords": 5400, "DescribeStream": 3}, "usd": 0.011, "note": "At the price of eu-central-1."},
	}
}

// reportFile writes a report's page, and returns where.
func reportFile(t *testing.T, data any) string {
	t.Helper()
	page, err := Report(data)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "heat.html")
	if err := os.WriteFile(path, page, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
