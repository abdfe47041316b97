// Package bill estimates the cost of a deployment's day, item by item, from its load. The amounts of work are measured in
// docs/performance.md, or are assumptions that a [Line] names. The prices are assumptions, too.
//
//	day := bill.Reckon(bill.Load{Events: 1000, ItemBytes: 500, Batch: 25, Targets: 1000}, 30, bill.Default())
//	fmt.Println(day.Settings.StreamShards, day.Total())
package bill

import (
	"fmt"
	"math"
	"time"

	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// Prices are in USD.
type Prices struct {
	Tables plan.Prices

	Requests    []Step  // the HTTP API's price of a million, by the number a month
	Invocations float64 // of functions, a million
	GBSecond    float64 // of a function's memory, arm64
	LogGB       float64 // ingested
	Metric      float64 // a custom metric, a month
	Alarm       float64 // on one metric, a month
	Dashboard   float64 // a month
	PutMetrics  float64 // a thousand calls of PutMetricData
	Traces      float64 // a million
	Recovery    float64 // point-in-time recovery, a GB and month
	TransferGB  float64 // from the API to the internet
	WarmWrite   float64 // a write unit of warm throughput above a new table's, once; 0 is not known
}

// Step is the price of a million, up to so many millions a month; 0 is unlimited.
type Step struct{ Millions, Price float64 }

// Default returns the prices of us-east-1: [plan.DefaultPrices] for tables, and else those of 2025 of the pages
// aws.amazon.com/api-gateway/pricing, /lambda/pricing, /cloudwatch/pricing, /xray/pricing, /dynamodb/pricing and
// /ec2/pricing/on-demand (transfer). They are from memory, without free tiers, and must be checked there. The price of
// warm throughput is not known.
func Default() Prices {
	return Prices{
		Tables:   plan.DefaultPrices(),
		Requests: []Step{{300, 1}, {0, 0.9}}, Invocations: 0.2, GBSecond: 0.0000133334,
		LogGB: 0.5, Metric: 0.3, Alarm: 0.1, Dashboard: 3, PutMetrics: 0.01, Traces: 5, Recovery: 0.2, TransferGB: 0.09,
	}
}

// Load is a deployment's load, which is constant all day.
type Load struct {
	Events     float64 // per second; they pile up
	Increments float64 // per second, of counters with one write shard: no stream record of theirs is folded
	ItemBytes  int     // names and values of each item
	Batch      int     // items in one call

	Targets        int           // entities with events within an hour
	Uniform        bool          // each entity has as many events
	BatchSize      int           // as the setting; 0 is 1,000
	BatchingWindow time.Duration // as the setting; 0 is [plan.BatchingWindow]

	AccessLogOff, Traced, Provisioned bool // as the settings accessLog, tracing and billing
}

// MaxWrites bounds [Load.Events] and [Load.Increments], and MaxTargets [Load.Targets].
const (
	MaxWrites  = 1e9
	MaxTargets = 1e7
)

// Line is one item of a bill.
type Line struct {
	Item     string  `json:"item"`
	Reckoned string  `json:"reckoned"`
	USD      float64 `json:"usd"`
}

// Day is a day's bill.
type Day struct {
	Day      int      `json:"day"` // 1 is the first with writes
	StoredGB float64  `json:"stored_gb"`
	Settings Settings `json:"settings"`
	Lines    []Line   `json:"lines"`
}

// Settings are the settings that suit the day. Warm units are 0 if those of a new table suffice.
type Settings struct {
	StreamShards          int    `json:"streamShards"`
	BatchingWindow        string `json:"batchingWindow"`
	StreamConcurrency     int    `json:"streamConcurrency"` // hotkeysConcurrency and aggregatorConcurrency
	WarmEventsWriteUnits  int    `json:"warmEventsWriteUnits"`
	WarmWriteUnits        int    `json:"warmWriteUnits"`
	WarmRollupsWriteUnits int    `json:"warmRollupsWriteUnits"`
}

// Total returns the total of the lines.
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

	keptDays        = 31   // of events, by the default eventRetention
	itemOverhead    = 100  // bytes that DynamoDB adds to a stored item
	newTableUnits   = 4000 // warm write units of a new table
	headroom        = 2    // of warm throughput: keys spread by chance
	window          = 10 * time.Second
	logLine         = 450   // bytes
	answerBytes     = 430   // of a call, with headers
	resultBytes     = 90    // of an item in it
	standingAlarms  = 112   // metrics that alarms watch
	logMetrics      = 4     // of the tasks' log lines
	mappingMetrics  = 14    // of the event source mappings
	scheduleRuns    = 3192  // of tasks, a day
	taskGBSeconds   = 0.068 // of a run, besides the pauses of the count of stream shards
	layerRuns       = 1440  // a day, each with a call of PutMetricData
	closedShards    = 7     // stream shards that a description lists for an open one: they rotate every four hours
	pageShards      = 100   // of a description's page
	pageSeconds     = 0.5
	maxPages        = 100
	standingUnits   = 44_000 // RCU of tasks and polls a day
	layerUnits      = 96_000 // WCU a day: an item of 8 KB each window, 17 a minute, 18 each ten minutes
	detectorMetrics = 4      // of a table, without those of hot keys and faults
	hotKeys         = 100    // names with metrics at any hour: the bound
	utilization     = 0.7    // of provisioned capacity
	indexes         = 2      // of the items table
)

// table is a table with a stream.
type table struct {
	writes, units float64 // per second
	gb            float64
	shards        int // open stream shards
	readers       int // functions that get its records
}

// work is the amount of work of a day's load.
type work struct {
	Load
	day           int
	tables        []table // events, and items
	writes, calls float64 // a day
	units         float64 // write units of the tables, a day
	folds         float64 // write units of rollups, a day
	shards        int     // stream shards of the tables
}

func (l Load) work(day int) work {
	w := work{Load: l, day: day, writes: (l.Events + l.Increments) * secondsDay}
	w.calls = w.writes / float64(l.Batch)
	kept := l.Events * secondsDay * float64(l.ItemBytes+itemOverhead) / 1e9 * float64(min(day, keptDays))
	w.tables = []table{{writes: l.Events, gb: kept, readers: 2}, {writes: l.Increments, readers: 1}}
	for i := range w.tables {
		if t := &w.tables[i]; t.writes > 0 {
			t.units = t.writes * float64(plan.WriteUnits(l.ItemBytes))
			t.shards = plan.StreamShards(t.units, t.gb)
			w.units, w.shards = w.units+t.units*secondsDay, w.shards+t.shards
		}
	}
	if w.BatchSize == 0 {
		w.BatchSize = 1000
	}
	if w.BatchingWindow == 0 {
		w.BatchingWindow = plan.BatchingWindow(w.shards)
	}
	if l.Events > 0 {
		w.folds = l.Events * secondsDay * plan.Folds{
			Rate: l.Events, Targets: l.Targets, Uniform: l.Uniform,
			StreamShards: w.tables[0].shards, BatchSize: w.BatchSize, BatchingWindow: w.BatchingWindow,
		}.UnitsPerEvent()
	}
	return w
}

// Reckon returns the bill of a day, of which 1 is the first with writes. Without writes it is an idle deployment's.
func Reckon(l Load, day int, p Prices) Day {
	w := l.work(day)
	d := Day{Day: day, Settings: w.settings(), Lines: standing(p)}
	if w.writes <= 0 {
		return d
	}
	d.StoredGB = w.tables[0].gb
	d.Lines = append(w.throughput(p), append(w.functions(p), append(w.watching(p), d.Lines...)...)...)
	if w.Traced {
		d.Lines = append(d.Lines, w.traces(p))
	}
	return d
}

func (w work) settings() Settings {
	warm := func(units float64) int {
		if units = math.Ceil(units * headroom); units > newTableUnits {
			return int(units)
		}
		return 0
	}
	return Settings{
		StreamShards: w.shards, BatchingWindow: w.BatchingWindow.String(), StreamConcurrency: plan.StreamConcurrency(w.shards),
		WarmEventsWriteUnits: warm(w.tables[0].units), WarmWriteUnits: warm(w.tables[1].units), WarmRollupsWriteUnits: warm(w.folds / secondsDay),
	}
}

// standing returns the costs that do not depend on the load.
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
		lines = append(lines, Line{"idle indexes", fmt.Sprintf("%d of a read and a write unit", indexes), indexes * 24 * (p.Tables.ProvisionedWrite + p.Tables.ProvisionedRead)})
	}
	s, units := w.settings(), 0.0
	for _, warm := range []int{s.WarmEventsWriteUnits, s.WarmWriteUnits, s.WarmRollupsWriteUnits} {
		units += float64(max(0, warm-newTableUnits))
	}
	if w.day == 1 && units > 0 {
		price := ""
		if p.WarmWrite == 0 {
			price = "; no price is known, give --warm-write"
		}
		lines = append(lines, Line{"pre-warming, once", fmt.Sprintf("%.0f write units above new tables'", units) + price, units * p.WarmWrite})
	}
	return lines
}

// functions assumes the duration of runs: for ingest 28.75 ms and 1.25 ms for each write, with 1 GB; for the stream's
// functions 5 ms and 0.06 ms for each record, with 1 and 1.73 GB.
func (w work) functions(p Prices) []Line {
	runs, batch := w.streamRuns()
	transfer := w.calls * (answerBytes + resultBytes*float64(w.Batch)) / 1e9
	return []Line{
		{"HTTP API", fmt.Sprintf("%.1f million calls of %d", w.calls/million, w.Batch), w.requests(p)},
		{
			"ingest", fmt.Sprintf("as many runs, assumed %.0f ms of 1 GB", ingestMillis(w.Batch)),
			w.calls * (p.Invocations/million + ingestMillis(w.Batch)/1000*p.GBSecond),
		},
		{
			"hotkeys and aggregator", fmt.Sprintf("%.1f million runs on %d stream shards, assumed %.0f ms of 1 and 1.73 GB", runs/million, w.shards, streamMillis(batch)),
			runs * (p.Invocations/million + streamMillis(batch)/1000*(1+1.73)/2*p.GBSecond),
		},
		{"transfer to the internet", fmt.Sprintf("%.1f GB: %d bytes a call and %d a write", transfer, answerBytes, resultBytes), transfer * p.TransferGB},
	}
}

// ends returns the ends of tumbling windows of a stream shard a day.
func (w work) ends() float64 { return secondsDay / plan.TumblingWindow(w.shards, window).Seconds() }

// streamRuns returns a day's runs of the stream's functions, and the records of each run: one for each batching window
// with records and one for each tumbling window's end, of each stream shard.
func (w work) streamRuns() (runs, batch float64) {
	for _, t := range w.tables {
		if t.writes == 0 {
			continue // its stream is idle
		}
		perShard := t.writes / float64(t.shards) // per second
		deliveries := min(perShard, max(1/w.BatchingWindow.Seconds(), perShard/float64(w.BatchSize)))
		runs += float64(t.readers*t.shards) * (deliveries*secondsDay + w.ends())
		batch += float64(t.readers) * t.writes * secondsDay
	}
	return runs, batch / runs
}

func ingestMillis(batch int) float64       { return 28.75 + 1.25*float64(batch) }
func streamMillis(records float64) float64 { return 5 + 0.06*records }

// requests adds up the monthly price steps.
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

// watching returns the costs of heat, metrics and logs.
func (w work) watching(p Prices) []Line {
	reports, size := float64(w.shards)*w.ends(), 1.0 // KB of held windows
	if plan.TumblingWindow(w.shards, window) == window {
		size = 10
	}
	layerReads := (reports*size*2 + layerUnits) / 4 // consistent reads, of most items two
	pauses := layerRuns * pageSeconds * min(maxPages, math.Floor(float64(closedShards*w.shards)/pageShards))
	lines := []Line{
		{"heat items", fmt.Sprintf("%.0f of %.0f KB", reports, size), reports * size * p.Tables.OnDemandWrite / million},
		{
			"layers of heat", fmt.Sprintf("%d write units, %.2f million read units; %.0f s of pauses", layerUnits, layerReads/million, pauses),
			(layerUnits*p.Tables.OnDemandWrite+layerReads*p.Tables.OnDemandRead)/million + pauses*p.GBSecond,
		},
		{"metrics", fmt.Sprintf("%d PutMetricData, %d metrics of each table", layerRuns, detectorMetrics), layerRuns/1000.0*p.PutMetrics + 2*detectorMetrics*p.Metric/daysAMonth},
		{"metrics of hot keys", fmt.Sprintf("%d names, with their alarm", hotKeys), hotKeys * (p.Metric + p.Alarm) / daysAMonth},
	}
	if !w.AccessLogOff {
		gb := w.calls * logLine / 1e9
		lines = append(lines, Line{"access log", fmt.Sprintf("%.1f GB: %d bytes a call", gb, logLine), gb * p.LogGB})
	}
	return lines
}

// traces returns the cost of Lambda's samples: one a second of each function, and 5 % of the rest.
func (w work) traces(p Prices) Line {
	sampled := func(runs float64) float64 { return min(runs, secondsDay+0.05*max(0, runs-secondsDay)) }
	runs, _ := w.streamRuns()
	n := sampled(w.calls) + 2*sampled(runs/2)
	return Line{"traces", fmt.Sprintf("%.2f million", n/million), n / million * p.Traces}
}
