// Package bill reckons what a deployment costs a day, item by item, from what is written to
// it. The amounts of work are those that docs/performance.md measures, or assumptions that a
// [Line] names; the prices are assumptions, too.
//
//	lines := bill.Day(bill.Load{Writes: 1000, ItemBytes: 500, Batch: 25}, bill.Default())
//	sum := bill.Sum(lines) // some 81 USD
package bill

import (
	"fmt"
	"math"

	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// Prices are in USD.
type Prices struct {
	Tables plan.Prices

	Requests    []Step  // the HTTP API's, a million, by how many a month
	Invocations float64 // of functions, a million
	GBSecond    float64 // of a function's memory, arm64
	LogGB       float64 // taken in
	Metric      float64 // a custom metric, a month
	Alarm       float64 // on one metric, a month
	Dashboard   float64 // a month
	PutMetrics  float64 // a thousand calls of PutMetricData
	Traces      float64 // a million
	Recovery    float64 // point-in-time recovery, a GB and month
}

// Step is the price of a million up to so many millions a month; 0 is without end.
type Step struct{ Millions, Price float64 }

// Default are those of us-east-1, of the tables as [plan.DefaultPrices] has them, of the rest as
// published in 2025, from memory and without free tiers: assumptions, to be checked.
func Default() Prices {
	return Prices{
		Tables:   plan.DefaultPrices(),
		Requests: []Step{{300, 1}, {0, 0.9}}, Invocations: 0.2, GBSecond: 0.0000133334,
		LogGB: 0.5, Metric: 0.3, Alarm: 0.1, Dashboard: 3, PutMetrics: 0.01, Traces: 5, Recovery: 0.2,
	}
}

// Load is what a deployment does all day.
type Load struct {
	Writes    float64 // events, counters' increments and the like, a second; 0 is an idle one
	ItemBytes int     // of each, names and values
	Batch     int     // how many come in one call

	AccessLogOff, Traced, Provisioned bool // as the settings accessLog, tracing and billing
}

// MaxWrites bounds a [Load]'s writes a second.
const MaxWrites = 1e9

// Line is one item of a bill.
type Line struct {
	Item     string  `json:"item"`
	Reckoned string  `json:"reckoned"`
	Day      float64 `json:"day"` // USD
}

// Sum adds up.
func Sum(lines []Line) (usd float64) {
	for _, l := range lines {
		usd += l.Day
	}
	return usd
}

const (
	daysAMonth = 30
	secondsDay = 86_400
	million    = 1e6

	firstPartitions = 4      // of a table on demand
	windows         = 8640   // of ten seconds, a day
	foldUnits       = 0.3    // a record, in batches of 1,000
	itemOverhead    = 100    // bytes that DynamoDB counts beside names and values
	logLine         = 450    // bytes
	standingAlarms  = 80     // metrics of alarms
	logMetrics      = 4      // of tasks' log lines
	mappingMetrics  = 14     // of event source mappings
	scheduleRuns    = 3192   // of tasks, a day
	taskGBSeconds   = 0.068  // a run's
	standingUnits   = 44_000 // read by tasks and polls a day
	layerUnits      = 96_000 // a day: an item of 8 KB each window, of 17 a minute, of 18 ten minutes
	detectorMetrics = 6
	hotKeys         = 100 // names that have metrics at any hour: the bound
	utilization     = 0.7 // of provisioned capacity
)

// work is what a day's load comes to.
type work struct {
	Load
	writes, units, calls float64 // a day
	shards               float64 // of the stream
}

func (l Load) work() work {
	w := work{Load: l, writes: l.Writes * secondsDay}
	w.units = w.writes * float64(plan.WriteUnits(l.ItemBytes))
	w.calls = w.writes / float64(l.Batch)
	w.shards = max(firstPartitions, math.Ceil(w.units/secondsDay/plan.PartitionWriteUnits))
	return w
}

// Day reckons a day's bill, the first in which items are stored. Without writes it is an idle
// deployment's.
func Day(l Load, p Prices) []Line {
	lines := standing(p)
	if l.Writes <= 0 {
		return lines
	}
	w := l.work()
	lines = append(w.tables(p), append(w.functions(p), append(w.watching(p), lines...)...)...)
	if w.Traced {
		lines = append(lines, w.traces(p))
	}
	return lines
}

// standing is what a deployment costs by being there.
func standing(p Prices) []Line {
	return []Line{
		{"alarms", fmt.Sprintf("on %d metrics", standingAlarms), standingAlarms * p.Alarm / daysAMonth},
		{"metrics of tasks and mappings", fmt.Sprintf("%d of log lines, some %d of mappings", logMetrics, mappingMetrics), (logMetrics + mappingMetrics) * p.Metric / daysAMonth},
		{"dashboard", "one", p.Dashboard / daysAMonth},
		{
			"tasks", fmt.Sprintf("%d runs, some %d read units", scheduleRuns, standingUnits),
			scheduleRuns*(p.Invocations/million+taskGBSeconds*p.GBSecond) + standingUnits*p.Tables.OnDemandRead/million,
		},
	}
}

func (w work) tables(p Prices) []Line {
	writes := func(item, of string, units float64) Line {
		if w.Provisioned {
			capacity := math.Ceil(units / secondsDay / utilization)
			return Line{item, of + fmt.Sprintf(": %.0f provisioned units", capacity), capacity * 24 * p.Tables.ProvisionedWrite}
		}
		return Line{item, of, units * p.Tables.OnDemandWrite / million}
	}
	gb := w.writes * float64(w.ItemBytes) / 1e9
	return []Line{
		writes("writes", fmt.Sprintf("%.1f million units", w.units/million), w.units),
		writes("folds", fmt.Sprintf("%v units a write", foldUnits), w.writes*foldUnits),
		{"storage of the first day", fmt.Sprintf("%.0f GB with point-in-time recovery; grows until items expire", gb), gb * (p.Tables.Storage + p.Recovery) / daysAMonth},
	}
}

// functions assumes what a run takes, by what it has to do: ingest 29 ms and 1.25 for each write,
// with 1 GB; the stream's functions 5 ms and 0.06 for each record, with 1 and 1.73 GB.
func (w work) functions(p Prices) []Line {
	runs := 2 * w.shards * secondsDay // one a second, for each of two functions
	batch := w.writes / (w.shards * secondsDay)
	return []Line{
		{"HTTP API", fmt.Sprintf("%.1f million calls of %d", w.calls/million, w.Batch), w.requests(p)},
		{
			"ingest", fmt.Sprintf("as many runs, assumed %.0f ms of 1 GB", ingestMillis(w.Batch)),
			w.calls * (p.Invocations/million + ingestMillis(w.Batch)/1000*p.GBSecond),
		},
		{
			"hotkeys and aggregator", fmt.Sprintf("%.1f million runs on %.0f stream shards, assumed %.0f ms of 1 and 1.73 GB", runs/million, w.shards, streamMillis(batch)),
			runs * (p.Invocations/million + streamMillis(batch)/1000*(1+1.73)/2*p.GBSecond),
		},
	}
}

func ingestMillis(batch int) float64       { return 28.75 + 1.25*float64(batch) }
func streamMillis(records float64) float64 { return 5 + 0.06*records }

// requests goes up the steps, which are by month.
func (w work) requests(p Prices) (usd float64) {
	left, below := w.calls*daysAMonth/million, 0.0
	for _, s := range p.Requests {
		n := left
		if s.Millions > 0 {
			n = min(left, s.Millions-below)
		}
		usd, left, below = usd+n*s.Price, left-n, s.Millions
	}
	return usd / daysAMonth
}

// watching is what it costs to know the heat, and the calls.
func (w work) watching(p Prices) []Line {
	reports := w.shards * windows
	layerReads := (reports*10 + layerUnits) / 4 // consistent ones
	lines := []Line{
		{"heat items", fmt.Sprintf("%.0f of assumed 10 KB", reports), reports * 10 * p.Tables.OnDemandWrite / million},
		{
			"layers of heat", fmt.Sprintf("%d write units, %.2f million read units", layerUnits, layerReads/million),
			(layerUnits*p.Tables.OnDemandWrite + layerReads*p.Tables.OnDemandRead) / million,
		},
		{"metrics", fmt.Sprintf("%.0f PutMetricData, %d metrics", reports, detectorMetrics), reports/1000*p.PutMetrics + detectorMetrics*p.Metric/daysAMonth},
		{"metrics of hot keys", fmt.Sprintf("%d names, with their alarm", hotKeys), hotKeys * (p.Metric + p.Alarm) / daysAMonth},
	}
	if !w.AccessLogOff {
		gb := w.calls * logLine / 1e9
		lines = append(lines, Line{"access log", fmt.Sprintf("%.1f GB: %d bytes a call", gb, logLine), gb * p.LogGB})
	}
	return lines
}

// traces are what Lambda samples: one a second of each function, and 5 % of what is more.
func (w work) traces(p Prices) Line {
	sampled := func(runs float64) float64 { return min(runs, secondsDay+0.05*max(0, runs-secondsDay)) }
	n := sampled(w.calls) + 2*sampled(w.shards*secondsDay)
	return Line{"traces", fmt.Sprintf("%.2f million", n/million), n / million * p.Traces}
}
