package plan

import (
	"math"
	"time"
)

// firstPartitions is how many partitions a new on-demand table has.
const firstPartitions = 4

// StreamShards returns how many open stream shards a table's stream has at least: one for each partition, by write units
// a second and by GB, and no fewer than a new on-demand table has.
func StreamShards(writeUnits, gb float64) int {
	return max(firstPartitions, partitions(Demand{TableWriteUnits: writeUnits, TableGB: gb}).Expected)
}

// manyStreamShards is the number of stream shards above which deliveries wait longer, since each stream shard causes an
// invocation of each function in each batching window.
const manyStreamShards = 50

// BatchingWindow returns how long Lambda waits for records before an invocation, except for rollups: 1 s, or 5 s with more than 50 open
// stream shards.
func BatchingWindow(streamShards int) time.Duration {
	if streamShards > manyStreamShards {
		return 5 * time.Second
	}
	return time.Second
}

// Windows of the function that folds summaries.
const (
	// RollupWindow is the default batching window of its delivery of events. Folds of rollups cost most of what a
	// deployment adds to the writes, and a longer delivery has more events for each.
	RollupWindow = 20 * time.Second
	// FoldsTumblingWindow is its tumbling window, which only makes Lambda name the stream shard of a delivery. Each
	// end of one is an invocation.
	FoldsTumblingWindow = 5 * time.Minute
)

// TumblingWindow returns the length of the detector's tumbling window, a multiple of the length of the detector's windows. It
// is one window, up to a minute with more than 8 open stream shards, and up to five minutes with more than 250. The
// detector stores quiet windows when a tumbling window ends.
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

// StreamConcurrency returns the concurrency that each function of the stream should reserve: so much that one invocation
// for each open stream shard takes less than FullShare of it, and at least 10.
func StreamConcurrency(streamShards int) int {
	return max(10, int(float64(streamShards)/FullShare)+1)
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

// zipf is the exponent of the measured folds: docs/performance/folds-cost.txt.
const zipf = 1.1

// UnitsPerEvent returns the expected write units of rollups per event, from 0 to 1: each distinct target of a delivery
// takes one update of up to 1 KB. It assumes that a target's events are in one stream shard, or in several if its rate
// needs several write shards.
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
		hit := -math.Expm1(-events * share / shards) // the probability of an event in each, if they are a Poisson process
		updates += shards * hit
	}
	return updates / events
}
