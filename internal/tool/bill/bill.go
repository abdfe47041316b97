// Package bill estimates the cost of a deployment's day, item by item, from its load. The amounts of work are from
// docs/performance, except those that a [Line] calls assumed. The prices are assumptions, too.
//
//	day := bill.Estimate(bill.Load{Events: 1000, ItemBytes: 500, Batch: 25, Targets: 1000}, 30, bill.Default())
//	fmt.Println(day.Settings.StreamShards, day.Total())
package bill

import (
	"fmt"
	"math"
	"time"

	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// Load is a deployment's load, which is constant all day.
type Load struct {
	Events     float64 // per second; stored until they expire
	Increments float64 // per second, of counters with one write shard, which are not folded
	ItemBytes  int     // attribute names and values of an item
	Batch      int     // items in one call

	Targets int  // entities with events within an hour
	Uniform bool // all entities have the same number of events

	Provisioned  bool // the setting billing
	StreamShards int  // the setting that is deployed; 0 is the day's own number
	OneReader    bool // the setting readers is one
}

// Maxima of [Load.Events] and [Load.Increments], of [Load.Targets], and of [Load.StreamShards].
const (
	MaxWrites       = 1e9
	MaxTargets      = 1e7
	MaxStreamShards = 1e6
)

// Line is one item of a bill.
type Line struct {
	Item  string  `json:"item"`
	Basis string  `json:"basis"` // the amount of work
	USD   float64 `json:"usd"`
}

// Day is a day's bill.
type Day struct {
	Day      int      `json:"day"` // 1 is the first day with writes
	StoredGB float64  `json:"stored_gb"`
	Settings Settings `json:"settings"`
	Lines    []Line   `json:"lines"`
}

// Settings are recommended settings for the day, and warm throughput in write units, which is set outside the
// template. It is 0 if that of a new table suffices.
type Settings struct {
	StreamShards       int `json:"streamShards"`
	AccountConcurrency int `json:"accountConcurrency"`
	PeakWrites         int `json:"peakWrites"`
	WarmEvents         int `json:"warm_events"`
	WarmItems          int `json:"warm_items"`
	WarmRollups        int `json:"warm_rollups"`
}

// Total returns the sum of the lines.
func (d Day) Total() (usd float64) {
	for _, l := range d.Lines {
		usd += l.USD
	}
	return usd
}

const (
	daysAMonth = 30
	secondsDay = 86_400
	million    = 1e6

	keptDays        = 31   // of events, with the default eventRetention
	itemOverhead    = 100  // bytes that DynamoDB adds to a stored item
	newTableUnits   = 4000 // warm write units of a new table
	headroom        = 2    // factor on warm throughput, because keys are distributed unevenly
	window          = 10 * time.Second
	batchSize       = 1000   // records in a delivery to hotkeys
	rollupBatch     = 10_000 // records in a delivery of events to the aggregator
	runMillis       = 5      // of a delivery, assumed
	recordMillis    = 0.06   // of a record in it, assumed
	hotkeysGB       = 1.0
	aggregatorGB    = 1.73
	logLine         = 450   // bytes of an access log's line
	answerBytes     = 430   // of a call, with headers
	resultBytes     = 90    // of an item in it
	standingAlarms  = 117   // number of metrics with alarms
	causes          = 5     // composite alarms
	logMetrics      = 4     // of the tasks' log lines
	mappingMetrics  = 14    // of the event source mappings
	scheduleRuns    = 3192  // of tasks, a day
	taskGBSeconds   = 0.068 // of a task's run, without pauses between pages of DescribeStream
	heatRuns        = 1440  // runs of the heat task a day, each with a call of PutMetricData
	closedShards    = 7     // stream shards that DescribeStream lists for each open one: they rotate every four hours
	pageShards      = 100   // stream shards in a page of DescribeStream
	pageSeconds     = 0.5   // pause after a page
	maxPages        = 100
	standingUnits   = 44_000 // RCU a day of tasks and polls
	foldUnits       = 39_000 // WCU a day: an item of 22 KB each minute, three of the progress, 18 KB each ten minutes
	detectorMetrics = 4      // of each table, without metrics of hot keys and faults
	hotKeys         = 100    // maximum number of keys with metrics
	utilization     = 0.7    // of provisioned capacity
	indexes         = 2      // of the items table
)

// Estimate returns the bill of a day, of which 1 is the first with writes. Without writes it is an idle deployment's.
func Estimate(l Load, day int, p Prices) Day {
	w := l.work(day)
	d := Day{Day: day, Settings: w.settings(), Lines: standing(p)}
	if w.writes <= 0 {
		return d
	}
	d.StoredGB = w.tables[0].gb
	d.Lines = append(w.throughput(p), append(w.functions(p), append(w.watching(p), d.Lines...)...)...)
	return d
}

// standing returns the costs that do not depend on the load.
func standing(p Prices) []Line {
	return []Line{
		{"alarms", fmt.Sprintf("on %d metrics, %d composite", standingAlarms, causes), (standingAlarms*p.Alarm + causes*p.Composite) / daysAMonth},
		{"metrics of tasks and mappings", fmt.Sprintf("%d of log lines, about %d of mappings", logMetrics, mappingMetrics), (logMetrics + mappingMetrics) * p.Metric / daysAMonth},
		{"dashboard", "one", p.Dashboard / daysAMonth},
		{
			"tasks", fmt.Sprintf("%d runs, about %d read units", scheduleRuns, standingUnits),
			scheduleRuns*(p.Invocations/million+taskGBSeconds*p.GBSecond) + standingUnits*p.Tables.OnDemandRead/million,
		},
	}
}

func (w work) throughput(p Prices) []Line {
	writes := func(item, of string, units float64) Line {
		if w.Provisioned {
			capacity := math.Ceil(units / secondsDay / utilization)
			return Line{item, of + fmt.Sprintf(": %.0f provisioned units", capacity), capacity * 24 * p.Tables.ProvisionedWrite}
		}
		return Line{item, of, units * p.Tables.OnDemandWrite / million}
	}
	gb := w.tables[0].gb
	lines := []Line{
		writes("writes", fmt.Sprintf("%.1f million units", w.units/million), w.units),
		writes("folds", fmt.Sprintf("%.2f units a write, of %d targets", w.folds/w.writes, w.Targets), w.folds),
		{"storage", fmt.Sprintf("%.0f GB with point-in-time recovery", gb), gb * (p.Tables.Storage + p.Recovery) / daysAMonth},
	}
	if w.Provisioned {
		lines = append(lines, w.idle(p))
	}
	return lines
}

// idle returns the cost of the minimum capacity of indexes, and of tables whose load is below it.
func (w work) idle(p Prices) Line {
	floor := math.Ceil(w.units / secondsDay / 10) // write units: a tenth of the peak
	below := 0.0
	for _, load := range []float64{w.tables[0].units, w.tables[1].units, w.folds / secondsDay} {
		below += max(0, floor-math.Ceil(load/utilization))
	}
	usd := 24 * (indexes*p.Tables.ProvisionedRead + (indexes+below)*p.Tables.ProvisionedWrite)
	return Line{"idle capacity", fmt.Sprintf("%d indexes of a read and a write unit, %.0f write units of tables", indexes, below), usd}
}

// functions returns the costs of requests, functions and transfer. It assumes runs of 28.75 ms and 1.25 ms for each write
// for ingest, with 1 GB, and of [runMillis] and [recordMillis] for each record for the stream's functions.
func (w work) functions(p Prices) []Line {
	runs, gbSeconds := w.streamRuns()
	removed, skipped := w.removals()
	transfer := w.calls * (answerBytes + resultBytes*float64(w.Batch)) / 1e9
	return []Line{
		{"HTTP API", fmt.Sprintf("%.1f million calls of %d", w.calls/million, w.Batch), w.requests(p)},
		{
			"ingest", fmt.Sprintf("as many runs, assumed %.0f ms of 1 GB", ingestMillis(w.Batch)),
			w.calls * (p.Invocations/million + ingestMillis(w.Batch)/1000*p.GBSecond),
		},
		{
			"stream functions", fmt.Sprintf("%.1f million runs on %d stream shards, assumed %v ms and %v a record", runs/million, w.shards, runMillis, recordMillis),
			runs*p.Invocations/million + gbSeconds*p.GBSecond,
		},
		{"expired events", fmt.Sprintf("%.1f million removals in the stream", removed/million), skipped * p.GBSecond},
		{"transfer to the internet", fmt.Sprintf("%.1f GB: %d bytes a call and %d a write", transfer, answerBytes, resultBytes), transfer * p.TransferGB},
	}
}

// watching returns the costs of heat, metrics and logs.
func (w work) watching(p Prices) []Line {
	reports, size := float64(w.shards)*w.ends(), 1.0 // KB of held windows
	if plan.TumblingWindow(w.deployed, window) == window {
		size = 10
	}
	foldReads := (reports*size + foldUnits*2) / 4 // consistent reads, of minutes two
	pauses := heatRuns * pageSeconds * min(maxPages, math.Floor(float64(closedShards*w.shards)/pageShards))
	lines := []Line{
		{"heat items", fmt.Sprintf("%.0f of %.0f KB", reports, size), reports * size * p.Tables.OnDemandWrite / million},
		{
			"folds of heat", fmt.Sprintf("%d write units, %.2f million read units; %.0f s of pauses", foldUnits, foldReads/million, pauses),
			(foldUnits*p.Tables.OnDemandWrite+foldReads*p.Tables.OnDemandRead)/million + pauses*p.GBSecond,
		},
		{"metrics", fmt.Sprintf("%d PutMetricData, %d metrics of each table", heatRuns, detectorMetrics), heatRuns/1000.0*p.PutMetrics + 2*detectorMetrics*p.Metric/daysAMonth},
		{"metrics of hot keys", fmt.Sprintf("%d names, with their alarm", hotKeys), hotKeys * (p.Metric + p.Alarm) / daysAMonth},
	}
	gb := w.calls * logLine / 1e9
	return append(lines, Line{"access log", fmt.Sprintf("%.1f GB: %d bytes a call", gb, logLine), gb * p.LogGB})
}
