package schema

import (
	"strconv"
	"strings"
	"time"
)

// A mark is a stream marker: an item that a check puts among an entity's events, or beside a player's entry in a
// board. A stream shard is read in order. So when the aggregator has folded a mark's record, it has folded all earlier
// writes to the same partition key:
//
//	pk         S  an event's, E#<entity>#<day>#<shard>, or an entry's,
//	              L#<board>#<period>#<player>
//	sk         S  <time>!<check>#<n> or <time>~<check>#<n>, before and after the
//	              events of that time, which is 2026-01-05, 2026-01-05T13 or longer;
//	              beside entries the day of the check
//	expires_at N  Unix seconds
//
// An event's sort key has a # after its time, so it is no mark's. An entry's sort key is its board, which the partition
// key contains as well.
//
// After the aggregator has folded all records before a mark, it acknowledges the mark in the rollups table:
//
//	pk           S  A#<check>
//	sk           S  the mark's pk, a #, the mark's sk
//	stream_shard S  of the mark's record; absent if the delivery doesn't name it
//	seq          S  the sequence number of the mark's record, 40 digits
//	expires_at   N  Unix seconds
const (
	MarkBefore = "!"
	MarkAfter  = "~"

	AckPrefix   = "A#"
	StreamShard = "stream_shard"
)

// MarkLifetime is how long marks and their acknowledgements are kept.
const MarkLifetime = 24 * time.Hour

// markDay is the layout of a mark's shortest time.
const markDay = "2006-01-02"

// ParseMark returns the check that put a mark; ok is false for all other sort keys.
func ParseMark(sk string) (check string, ok bool) {
	at := strings.IndexAny(sk, MarkBefore+MarkAfter+"#")
	if at < len(markDay) || at > len(TimeLayout) || sk[at] == '#' {
		return "", false
	}
	check, _, ok = strings.Cut(sk[at+1:], "#")
	return check, ok && check != ""
}

// HasMarks reports whether an item with a mark's sort key may be a mark: among events, or beside
// an entry and not an entry itself.
func HasMarks(pk, sk string) bool {
	if key, err := ParseKey(pk); err == nil && TraitsOf(key.Base.Type).Summary == RollupSummary {
		return true
	}
	base, err := ParseBaseKey(pk)
	_, _, _, entry := ParseEntryKey(pk, sk)
	return err == nil && TraitsOf(base.Type).Summary == RankingSummary && !entry
}

// BoardMarkSK returns the sort key of a check's mark beside an entry.
func BoardMarkSK(at time.Time, check string, n int) string {
	return at.UTC().Format(markDay) + MarkBefore + check + "#" + strconv.Itoa(n)
}

// AckKey returns the keys of a mark's acknowledgement.
func AckKey(check, pk, sk string) (ackPK, ackSK string) {
	return AckPrefix + check, pk + "#" + sk
}
