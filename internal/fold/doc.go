// Package fold folds the streams of both tables into summaries, exactly once: the write shards of counters into their
// sums, events into rollups of an hour, and entries of leaderboards into the tops and histograms of their boards.
//
//	handler, err := fold.New(settings, client, log)
//	answer, err := handler.Invoke(ctx, payload)
//
// Lambda delivers a batch at least once: it may split it, and retries it for up to a day. Within a stream shard records
// arrive in order, one batch at a time. So what prevents a second fold is stored with the summary.
//
// Every write of a counter raises its write shard's rev. A summary holds the latest folded
// rev and value of each write shard, and a fold only ever replaces a smaller rev.
//
// An event is one record. A rollup has a fragment for each stream shard, with the sequence number of
// its latest folded record. A fold adds only records with higher sequence numbers.
//
// A board's period has a top, which all stream shards fold into and which is exact at rest. Its histogram of scores has a
// fragment for each stream shard, guarded like an event rollup, and ranks all other players within a stated margin. The
// rev in an entry's record orders the entry's states. A player enters the top only after a read of the entry itself.
//
// A fold of a counter, an event rollup or a histogram is one UpdateItem per item and needs no read: the handler caches
// what it wrote, and a failed condition returns the item. A top is read first, because only its current state shows
// whether a record changes it; a record far below the top needs no read.
package fold
