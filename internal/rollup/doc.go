// Package rollup folds the write shards of counters into summaries, exactly
// once, from the items table's stream.
//
//	handler, err := rollup.New(settings, client, log)
//	answer, err := handler.Invoke(ctx, payload)
//
// Lambda delivers a batch at least once, splits it and repeats it for up to a
// day, and keeps order per item only. So the guard is in the data: every write
// raises a write shard's rev, a summary holds for each write shard the rev and
// value it took over last, and a fold only ever replaces a smaller rev. A fold
// is one UpdateItem per partial summary and needs no read: the handler remembers
// what it wrote, and a failed condition returns the item as it is.
package rollup
