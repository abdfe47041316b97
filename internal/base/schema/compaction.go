package schema

import "time"

// EmptiedSuffix is appended to the seq of a fragment, of an event rollup or a histogram, when its contents are merged into
// MergedPart. A fold in flight has read the seq without the suffix. So its condition fails, and it reads the fragment again.
// A seq with the suffix sorts between its sequence number and the next one, so no record is folded twice.
const EmptiedSuffix = "~"

// EmptiedLifetime is how long an emptied fragment keeps its seq. It is longer than a day, for which a stream keeps and
// redelivers a record.
const EmptiedLifetime = 48 * time.Hour

// A compaction's cursor stores its progress through the rollups table. It is an item of that table:
//
//	pk      S  T#compact
//	sk      S  -
//	round   N  Unix milliseconds of the round's start
//	done    BOOL  the round is complete
//	from_pk S  key of the last item read; absent before the first
//	from_sk S
//	v       N  1
const CompactionPK = "T#compact"
