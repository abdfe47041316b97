package schema

import "time"

// EmptiedSuffix is appended to the seq of a part, of an event rollup or of a board's
// histogram, that gave what it had to MergedPart. No fold remembers such a seq, so that each that is under way is
// refused and reads what is left. It sorts after the sequence number it follows and
// before the next one, so that what was folded stays folded.
const EmptiedSuffix = "~"

// EmptiedLifetime is how long a part that was emptied is kept for its seq: a record
// stays in its stream for a day, and comes again for no longer.
const EmptiedLifetime = 48 * time.Hour

// A compaction's cursor says up to where the rollups table was gone through. It is
// in that table:
//
//	pk      S  T#compact
//	sk      S  -
//	round   N  Unix milliseconds of the round's start
//	done    BOOL  the round is complete
//	from_pk S  key of the last item that was gone through; absent before the first
//	from_sk S
//	v       N  1
const CompactionPK = "T#compact"
