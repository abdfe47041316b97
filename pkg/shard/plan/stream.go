package plan

import (
	"math"
	"time"
)

// firstPartitions is how many partitions a new on-demand table has.
const firstPartitions = 4

// StreamShards returns how many open stream shards a table's stream has at least, one for each partition: by write
// units per second, by GB, and as many as a new on-demand table has.
func StreamShards(writeUnits, gb float64) int {
	return max(firstPartitions, partitions(Demand{TableWriteUnits: writeUnits, TableGB: gb}).Expected)
}

// manyStreamShards is the number of stream shards above which deliveries wait longer, since each stream shard takes an
// invocation of each function for each batching window.
const manyStreamShards = 50

// BatchingWindow returns how long a delivery waits for records, by the number of open stream shards: 1 s, or 5 s with
// more than 50.
func BatchingWindow(streamShards int) time.Duration {
	if streamShards > manyStreamShards {
		return 5 * time.Second
	}
	return time.Second
}

// TumblingWindow returns the length of Lambda's tumbling window, by the number of open stream shards and the length of
// the detector's windows: that length, or with more than 8 stream shards a minute and with more than 250 five minutes,
// in whole windows. The detector stores quiet windows when it ends.
func TumblingWindow(streamShards int, window time.Duration) time.Duration {
	tumbling := window
	switch {
	case streamShards > 250:
		tumbling = 5 * time.Minute
	case streamShards > 8:
		tumbling = time.Minute
	}
	return max(window, tumbling.Truncate(window))
}

// FullShare is the share of a function's concurrency that open stream shards may take.
const FullShare = 0.8

// StreamConcurrency returns the concurrency that each function of the stream should reserve, by the number of open
// stream shards: one for each, below FullShare of all, and at least 100.
func StreamConcurrency(streamShards int) int {
	return max(100, int(float64(streamShards)/FullShare)+1)
}

// Folds describes how events become rollups.
type Folds struct {
	Rate    float64 // events per second
	Targets int     // rollups that are written in an hour: entities, times rules that match
	Uniform bool    // each target has as many events, as of sensors; else by Zipf's law with the exponent 1.1

	StreamShards   int           // of the events' table
	BatchSize      int           // most records in a delivery
	BatchingWindow time.Duration // how long a delivery waits for records
}

// zipf is the exponent of the measured folds, see docs/performance.md.
const zipf = 1.1

// UnitsPerEvent returns the write units of rollups per event: each distinct target of a delivery takes one update of up
// to 1 KB. The result is between 0 and 1. A target's events are in one stream shard, unless its rate asks for several
// write shards.
func (f Folds) UnitsPerEvent() float64 {
	window := f.BatchingWindow.Seconds()
	if perShard := f.Rate / float64(f.StreamShards); perShard*window > float64(f.BatchSize) {
		window = float64(f.BatchSize) / perShard
	}
	events := f.Rate * window // of all stream shards in one window
	if events <= 1 {
		return 1
	}
	weights := make([]float64, f.Targets)
	sum := 0.0
	for i := range weights {
		weights[i] = 1
		if !f.Uniform {
			weights[i] = math.Pow(float64(i+1), -zipf)
		}
		sum += weights[i]
	}
	updates := 0.0
	for _, w := range weights {
		share := w / sum
		shards := float64(min(f.StreamShards, Needed(f.Rate*share, PartitionWriteUnits, CalculatedShare)))
		updates -= shards * math.Expm1(-events*share/shards) // of a Poisson process: the probability of an event in each
	}
	return min(1, updates/events)
}
