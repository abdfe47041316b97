package schema

import (
	"strconv"
	"strings"
	"time"
)

// A stream marker is an item that a check puts among an entity's events, or beside a player's entry in a board. A stream
// shard is read in order. So when the aggregator has folded a marker's record, it has folded all earlier writes to the same
// partition key:
//
//	pk         S  an event's, E#<entity>#<day>#<shard>, or an entry's,
//	              L#<board>#<period>#<player>
//	sk         S  <time>!<check># or <time>~<check>#, before and after the events of
//	              that time, which is 2026-01-05, 2026-01-05T13 or longer; beside
//	              entries <day of the check>!<check>#<n>
//	expires_at N  Unix seconds
//
// An event's sort key has a # after its time, so it differs from a marker's. An entry's sort key is its board, which the
// partition key contains as well.
//
// After the aggregator has folded all records before a marker, it acknowledges the marker in the rollups table:
//
//	pk           S  A#<check>
//	sk           S  the marker's pk, a #, the marker's sk
//	stream_shard S  of the marker's record; absent if the delivery doesn't name it
//	seq          S  the sequence number of the marker's record, 40 digits
//	expires_at   N  Unix seconds
const (
	MarkerBefore = "!"
	MarkerAfter  = "~"

	AckPrefix   = "A#"
	StreamShard = "stream_shard"
)

// MarkerLifetime is how long stream markers and their acknowledgements are kept.
const MarkerLifetime = 24 * time.Hour

// markerDay is the layout of the shortest time in a marker's sort key.
const markerDay = "2006-01-02"

// ParseMarker returns the check that put a stream marker, by the marker's sort key; ok is false for all other sort keys.
func ParseMarker(sk string) (check string, ok bool) {
	timeEnd := strings.IndexAny(sk, MarkerBefore+MarkerAfter+"#")
	if timeEnd < len(markerDay) || timeEnd > len(TimeLayout) || sk[timeEnd] == '#' {
		return "", false
	}
	check, _, ok = strings.Cut(sk[timeEnd+1:], "#")
	return check, ok && check != ""
}

// MayBeMarker reports whether an item with a marker's sort key may be a stream marker. Its partition key must be of
// events or begin as those of boards' entries do, and the item must not be an entry.
func MayBeMarker(pk, sk string) bool {
	if key, err := ParseKey(pk); err == nil && TraitsOf(key.Base.Type).Summary == RollupSummary {
		return true
	}
	base, err := ParseBaseKey(pk)
	_, _, _, isEntry := ParseEntryKey(pk, sk)
	return err == nil && TraitsOf(base.Type).Summary == RankingSummary && !isEntry
}

// BoardMarkerSK returns the sort key of a check's stream marker beside an entry. n distinguishes the markers of a check.
func BoardMarkerSK(at time.Time, check string, n int) string {
	return at.UTC().Format(markerDay) + MarkerBefore + check + "#" + strconv.Itoa(n)
}

// AckKey returns the keys of the acknowledgement of a stream marker, by its check and its keys.
func AckKey(check, pk, sk string) (ackPK, ackSK string) {
	return AckPrefix + check, pk + "#" + sk
}
