package plan

import "time"

// manyStreamShards is the number of stream shards above which deliveries wait longer. Each stream shard causes an
// invocation of each function in each batching window.
const manyStreamShards = 50

// BatchingWindow returns how long Lambda waits for records before an invocation: 1 s, or 5 s with more than 50 open
// stream shards. Rollups have a [RollupWindow] of their own.
func BatchingWindow(streamShards int) time.Duration {
	if streamShards > manyStreamShards {
		return 5 * time.Second
	}
	return time.Second
}

// Windows of the aggregator, the function that folds summaries.
const (
	// RollupWindow is the aggregator's default batching window for events. Folds of rollups cost most of what a
	// deployment adds to the writes, and after a longer window each fold has more events.
	RollupWindow = 20 * time.Second
	// FoldsTumblingWindow is the aggregator's tumbling window. Its only use is that Lambda then names the stream shard
	// of a batch. The end of each window is an invocation.
	FoldsTumblingWindow = 5 * time.Minute
)

// TumblingWindow returns the length of the detector's tumbling window: with up to 8 open stream shards, the length of
// the detector's own window; with up to 250, a minute; with more, five minutes. It is rounded down to whole windows of
// the detector, and at least one. The detector stores quiet windows when a tumbling window ends.
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

// FullShare is the fraction of a function's concurrency at which the number of open stream shards raises an alarm.
const FullShare = 0.8
