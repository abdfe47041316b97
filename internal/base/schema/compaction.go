package schema

import "time"

// EmptiedSuffix is appended to the seq of a fragment after its contents were merged into MergedPart. The fragment is of
// an event rollup or of a board's histogram. A fold in flight has read the seq without the suffix, so its condition
// fails, and it reads the fragment again. A seq with the suffix sorts after the sequence number and before the next
// sequence number, so folded records stay folded.
const EmptiedSuffix = "~"

// EmptiedLifetime is how long an emptied fragment keeps its seq. A stream keeps a record for a day, so it is not
// redelivered later.
const EmptiedLifetime = 48 * time.Hour

// A compaction's cursor stores its progress through the rollups table. It is an item of that
// table:
//
//	pk      S  T#compact
//	sk      S  -
//	round   N  Unix milliseconds of the round's start
//	done    BOOL  the round is complete
//	from_pk S  key of the last item read; absent before the first
//	from_sk S
//	v       N  1
const CompactionPK = "T#compact"
