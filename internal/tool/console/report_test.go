package console

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// sampleReport returns the report of a day with a storm.
func sampleReport() object {
	to := noon
	from := to.Add(-24 * time.Hour)
	heat := storm(heatQuery{from: from, to: to})
	for i, covered := range heat["covered"].([]float64) {
		heat["covered"].([]float64)[i] = 0.02 * math.Ceil(covered)
	}
	for _, r := range heat["rows"].([]object) { // a report has no current status and no heaviest windows
		maps.DeleteFunc(r, func(field string, _ any) bool {
			return !slices.Contains([]string{"key", "keys", "first", "last", "status", "worst", "write_units_per_second", "current", "peak", "units", "error"}, field)
		})
		r["worst"], r["current"] = r["status"], 0
	}
	storm := func(kind, key string, at time.Duration, rate float64) object {
		return object{
			"kind": kind, "from": stamp(from.Add(at)), "to": stamp(from.Add(at + 4*time.Minute)), "key": key, "keys": 1, "write_units_per_second": rate, "low": rate * 0.94, "high": rate * 1.07,
			"advice": "spread it over 3 partition keys",
		}
	}
	return object{
		"table": "orders", "where": "eu-central-1", "from": stamp(from), "to": stamp(to), "made": stamp(to), "version": "0.9.0",
		"heat":      heat,
		"summary":   []string{"Two keys of orders were over the threshold of 700 write units a second, C#video/7#1 for 9 hours.", "The table as a whole took 3,100 a second at most; no index was hot."},
		"storms":    []object{storm("one key", "C#video/7#1", 13*time.Hour, 1480.2), storm("a prefix", "C#page/", 3*time.Hour, 1210), storm("rising sort keys", "E#sensor-03", 7*time.Hour, 980)},
		"splits":    []object{{"time": stamp(from.Add(14 * time.Hour)), "parent": "shardId-00000001763850000000-7d1c2f30", "children": 2}},
		"todo":      []string{"C#video/7#1: spread its writes over 3 partition keys.", "C#page/: write in another order than that of its keys."},
		"read":      object{"share": 0.02, "records": 123456, "slices": 1800, "stream_shards": 12, "calls": 5400, "note": "Slices of 2 s, at random times of each minute."},
		"throttles": throttleReport(),
		"cost":      object{"calls": object{"GetRecords": 5400, "DescribeStream": 3}, "usd": 0.011, "note": "At the price of eu-central-1."},
	}
}

// reportFile writes a report, and returns its path.
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

// TestReportPage checks that a report shows its data without a network, and hostile text as text.
func TestReportPage(t *testing.T) {
	t.Parallel()
	data := sampleReport()
	data["table"] = hostile[0]
	data["todo"] = append(data["todo"].([]string), hostile...)
	data["storms"].([]object)[0]["key"] = hostile[1]
	p := open(t, 1200, 1000)
	p.do(network.Enable(), network.EmulateNetworkConditions(true, 0, 0, 0))
	p.do(chromedp.Navigate("file://" + reportFile(t, data)))
	p.until("document.documentElement.dataset.ready == 'yes'")
	for _, seen := range []string{`table <img src=x onerror=`, "Two keys of orders", "rising sort keys", "1,480", "1,391 – 1,584", "shardId-00000001763850000000-7d1c2f30", "5,400 GetRecords", "$0.011", "abc\\u{202e}gnp", "2% of the stream", "Summary", "Duration", "Throttled: why?", "1,158 throttles in 15 minutes.", "adds write shards to counter video/7", "Hot-key events"} {
		p.shows(seen)
	}
	if value[bool](p, "'pwned' in window || performance.getEntriesByType('resource').length > 0") {
		t.Error("the report parsed a text as markup, or made a request")
	}
	p.rowAt("C#video/7")
	p.healthy()
}

// TestReportIsSmall checks that the largest report has at most 2 MB.
func TestReportIsSmall(t *testing.T) {
	heat := day(240)
	for _, r := range heat["rows"].([]object) {
		delete(r, "heaviest")
		for i := range r["units"].([]int) {
			r["units"].([]int)[i] += 1_000_000
			r["error"].([]int)[i] = 123_456
		}
	}
	data := sampleReport()
	data["heat"] = heat
	page, err := Report(data)
	if err != nil || len(page) > 2_000_000 {
		t.Errorf("the report has %d bytes, %v; want at most 2,000,000", len(page), err)
	}
}

// TestReportOmitsIdleTime checks that a report's map has only the columns and the rows with writes.
func TestReportOmitsIdleTime(t *testing.T) {
	t.Parallel()
	data := sampleReport()
	heat := data["heat"].(object)
	for _, numbers := range append([]object{{"units": heat["total"]}, {"units": heat["rest"]}}, heat["rows"].([]object)...) {
		list := numbers["units"].([]int)
		for i := range list {
			if i < 100 || i >= 104 {
				list[i] = 0
			}
		}
	}
	heat["rows"] = append(heat["rows"].([]object), row("nothing", 1, "warm", 0, make([]int, 144)))
	p := open(t, 1200, 1000)
	p.do(chromedp.Navigate("file://" + reportFile(t, data)))
	p.until("document.documentElement.dataset.ready == 'yes'")
	if columns := value[string](p, "document.getElementById('map').dataset.columns"); columns != "14" {
		t.Errorf("the map has %s columns, want 4 with writes and margins of 5", columns)
	}
	if value[bool](p, "document.getElementById('rows').innerText.includes('nothing')") {
		t.Error("the list has a row without writes")
	}
	p.healthy()
}
