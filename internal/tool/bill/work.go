package bill

import (
	"math"
	"time"

	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// table is the load of a table with a stream.
type table struct {
	writes, units float64 // per second
	gb            float64 // stored
	shards        int     // open stream shards
	readers       int     // number of functions that read its stream
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
	batching      time.Duration
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
	w.batching = plan.BatchingWindow(w.shards)
	if l.Events > 0 {
		w.folds = l.Events * secondsDay * plan.Folds{
			Rate: l.Events, Targets: l.Targets, Uniform: l.Uniform,
			StreamShards: w.tables[0].shards, BatchSize: batchSize, BatchingWindow: w.batching,
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

// ends returns the number of tumbling windows of a stream shard a day.
func (w work) ends() float64 { return secondsDay / plan.TumblingWindow(w.shards, window).Seconds() }

// streamRuns returns the number of a day's runs of the stream's functions, and the mean number of records in a run. Each
// stream shard has a run for each batching window with records, and one for the end of each tumbling window.
func (w work) streamRuns() (runs, batch float64) {
	for _, t := range w.tables {
		if t.writes == 0 {
			continue // its stream is idle
		}
		perShard := t.writes / float64(t.shards) // per second
		deliveries := min(perShard, max(1/w.batching.Seconds(), perShard/batchSize))
		runs += float64(t.readers*t.shards) * (deliveries*secondsDay + w.ends())
		batch += float64(t.readers) * t.writes * secondsDay
	}
	return runs, batch / runs
}

func ingestMillis(batch int) float64 { return 28.75 + 1.25*float64(batch) }

func streamMillis(records float64) float64 { return 5 + 0.06*records }
