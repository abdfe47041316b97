// Package rollup folds the items table's stream into summaries, exactly once: the
// write shards of counters into their sums, events into rollups of an hour or a day,
// and entries of leaderboards into the tops and histograms of their boards.
//
//	handler, err := rollup.New(settings, client, log)
//	answer, err := handler.Invoke(ctx, payload)
//
// Lambda delivers a batch at least once, splits it and repeats it for up to a
// day; within a stream shard records come in order, one delivery at a time. So the guard is in
// the data.
//
// Every write raises a counter's write shard's rev, a summary holds for each write
// shard the rev and value it took over last, and a fold only ever replaces a
// smaller rev.
//
// An event is one record, and comes in the order of its stream shard. A rollup has
// a part for each stream shard, which holds the sequence number of the record that
// it took over last, and a fold adds only what lies beyond.
//
// A board's period has a top, which all stream shards fold into and which is exact
// at rest, and, guarded like an event rollup, a histogram of scores in one part for
// each stream shard, which ranks everybody else within a stated margin. An entry's
// record says by its rev how new it is, and a player enters the top only by a reading
// of the entry itself.
//
// A fold of a counter, an event rollup or a histogram is one UpdateItem per item and
// needs no read: the handler remembers what it wrote, and a failed condition returns
// the item as it is. A top is read first, since only the newest says what a record
// does not change.
package rollup
