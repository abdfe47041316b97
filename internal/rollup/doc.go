// Package rollup folds the items table's stream into summaries, exactly once: the
// write shards of counters into their sums, and events into rollups of an hour or
// a day.
//
//	handler, err := rollup.New(settings, client, log)
//	answer, err := handler.Invoke(ctx, payload)
//
// Lambda delivers a batch at least once, splits it and repeats it for up to a
// day, and keeps order per item only. So the guard is in the data.
//
// Every write raises a counter's write shard's rev, a summary holds for each write
// shard the rev and value it took over last, and a fold only ever replaces a
// smaller rev.
//
// An event is one record, and comes in the order of its stream shard. A rollup has
// a part for each stream shard, which holds the sequence number of the record that
// it took over last, and a fold adds only what lies beyond.
//
// A fold is one UpdateItem per summary item and needs no read: the handler
// remembers what it wrote, and a failed condition returns the item as it is.
package rollup
