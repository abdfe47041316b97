package schema

import (
	"strconv"
	"strings"
	"time"
)

// A mark is an item that an audit puts among an entity's events, or beside a player's
// entry in a board. Since a stream shard is read in order, a mark that has come through
// proves that all that was written before it, at the same place of the table, has been
// folded:
//
//	pk         S  an event's, E#<entity>#<day>#<shard>, or an entry's,
//	              L#<board>#<period>#<player>
//	sk         S  <time>!<audit>#<n> or <time>~<audit>#<n>, before and after the
//	              events of that time, which is 2026-01-05, 2026-01-05T13 or longer;
//	              beside entries the day of the audit
//	expires_at N  Unix seconds
//
// An event has a # behind its time, so no event's sort key is a mark's. An entry's is
// its board, which the partition key has as well.
//
// The aggregator acknowledges a mark, after it folded all that came before it, in
// the rollups table:
//
//	pk           S  A#<audit>
//	sk           S  the mark's pk, a #, the mark's sk
//	stream_shard S  by which the mark came; absent when the delivery doesn't name it
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

// shortest time of a mark.
const markDay = "2006-01-02"

// ParseMark returns whose mark it is; ok is false for the sort keys of all else.
func ParseMark(sk string) (audit string, ok bool) {
	at := strings.IndexAny(sk, MarkBefore+MarkAfter+"#")
	if at < len(markDay) || at > len(TimeLayout) || sk[at] == '#' {
		return "", false
	}
	audit, _, ok = strings.Cut(sk[at+1:], "#")
	return audit, ok && audit != ""
}

// HasMarks tells whether an item with a mark's sort key may be one: among events, or
// beside an entry and not one itself.
func HasMarks(pk, sk string) bool {
	if key, err := ParseKey(pk); err == nil && key.Base.Type == Entity {
		return true
	}
	base, err := ParseBaseKey(pk)
	_, _, _, entry := ParseEntryKey(pk, sk)
	return err == nil && base.Type == Board && !entry
}

// BoardMarkSK is the sort key of an audit's mark beside an entry.
func BoardMarkSK(at time.Time, audit string, n int) string {
	return at.UTC().Format(markDay) + MarkBefore + audit + "#" + strconv.Itoa(n)
}

// AckKey returns the keys of a mark's acknowledgement.
func AckKey(audit, pk, sk string) (ackPK, ackSK string) {
	return AckPrefix + audit, pk + "#" + sk
}
