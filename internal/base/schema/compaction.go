package schema

import "time"

// EmptiedSuffix is appended to the seq of a fragment, of an event rollup or of a board's histogram,
// after its contents were merged into MergedPart. No fold in flight has such a seq, so the fold's
// condition fails and it reads the fragment again. The suffix sorts after its sequence number and
// before the next one, so folded records stay folded.
const EmptiedSuffix = "~"

// EmptiedLifetime is how long an emptied fragment keeps its seq. A stream keeps a record for a day
// and redelivers it no longer.
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
