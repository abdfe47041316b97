package bill

import (
	"cmp"
	"math"
	"time"

	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// table is the load of a table with a stream.
type table struct {
	writes, units float64 // per second
	removed       float64 // expired items per second
	gb            float64 // stored
	shards        int     // open stream shards
	readers       []reader
}

// reader is a function that reads a table's stream.
type reader struct {
	gb                 float64 // memory
	batching, tumbling time.Duration
	batch              float64 // records in a delivery, at most
}

// work has the amounts of work of a day's load.
type work struct {
	Load
	day           int
	tables        []table // events, and items
	writes, calls float64 // a day
	units         float64 // write units of the tables, a day
	folds         float64 // write units of rollups, a day
	shards        int     // open stream shards of all tables
	deployed      int     // the setting streamShards
}

// recordBytes are the bytes of a record in a delivery beside those of its item, and maxPayload the bytes of a delivery:
// https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
const (
	recordBytes = 600
	maxPayload  = 6 << 20
)

func (l Load) work(day int) work {
	w := work{Load: l, day: day, writes: (l.Events + l.Increments) * secondsDay}
	w.calls = w.writes / float64(l.Batch)
	kept := l.Events * secondsDay * float64(l.ItemBytes+itemOverhead) / 1e9 * float64(min(day, keptDays))
	w.tables = []table{{writes: l.Events, gb: kept}, {writes: l.Increments}}
	if day > keptDays {
		w.tables[0].removed = l.Events
	}
	for i := range w.tables {
		if t := &w.tables[i]; t.writes > 0 {
			t.units = t.writes * float64(plan.WriteUnits(l.ItemBytes))
			t.shards = plan.StreamShards(t.units, t.gb)
			w.units, w.shards = w.units+t.units*secondsDay, w.shards+t.shards
		}
	}
	w.deployed = cmp.Or(l.StreamShards, w.shards)
	detector := reader{hotkeysGB, plan.BatchingWindow(w.deployed), plan.TumblingWindow(w.deployed, window), batchSize}
	rollups := reader{aggregatorGB, plan.RollupWindow, plan.FoldsTumblingWindow, math.Min(rollupBatch, maxPayload/float64(l.ItemBytes+recordBytes))}
	w.tables[0].readers, w.tables[1].readers = []reader{detector, rollups}, []reader{detector}
	if l.OneReader {
		rollups = reader{aggregatorGB, detector.batching, detector.tumbling, detector.batch}
		w.tables[0].readers, w.tables[1].readers = []reader{rollups}, []reader{rollups}
	}
	if l.Events > 0 {
		w.folds = l.Events * secondsDay * plan.Folds{
			Rate: l.Events, Targets: l.Targets, Uniform: l.Uniform,
			StreamShards: w.tables[0].shards, BatchSize: int(rollups.batch), BatchingWindow: rollups.batching,
		}.UnitsPerEvent()
	}
	return w
}

func (w work) settings() Settings {
	warm := func(units float64) int {
		if units = math.Ceil(units * headroom); units > newTableUnits {
			return int(units)
		}
		return 0
	}
	return Settings{
		StreamShards: w.shards, AccountConcurrency: plan.Quota(w.shards), PeakWrites: int(math.Ceil(w.units / secondsDay)),
		WarmEvents: warm(w.tables[0].units), WarmItems: warm(w.tables[1].units), WarmRollups: warm(w.folds / secondsDay),
	}
}

// ends returns the number of the detector's tumbling windows of a stream shard a day.
func (w work) ends() float64 { return secondsDay / plan.TumblingWindow(w.deployed, window).Seconds() }

// streamRuns returns the number of a day's runs of the stream's functions, and their GB-seconds. Each stream shard has a
// run for each batching window with records, and one for the end of each tumbling window.
func (w work) streamRuns() (runs, gbSeconds float64) {
	for _, t := range w.tables {
		if t.writes == 0 {
			continue // its stream is idle
		}
		perShard := t.writes / float64(t.shards) // per second
		for _, r := range t.readers {
			deliveries := min(perShard, max(1/r.batching.Seconds(), perShard/r.batch))
			of := float64(t.shards) * secondsDay * (deliveries + 1/r.tumbling.Seconds())
			runs, gbSeconds = runs+of, gbSeconds+r.gb*(of*runMillis+t.writes*secondsDay*recordMillis)/1000
		}
	}
	return runs, gbSeconds
}

// removals returns the number of expired items that the stream delivers in a day, and the GB-seconds to skip them.
func (w work) removals() (n, gbSeconds float64) {
	for _, t := range w.tables {
		n += t.removed * secondsDay
		for _, r := range t.readers {
			gbSeconds += r.gb * t.removed * secondsDay * recordMillis / 1000
		}
	}
	return n, gbSeconds
}

func ingestMillis(batch int) float64 { return 28.75 + 1.25*float64(batch) }
