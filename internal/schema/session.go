package schema

import "strings"

// A session is one item of the items table, on the write shard that its id has
// among the shard count in force when it was written last:
//
//	pk         S  S#<group>#<shard>
//	sk         S  s#<id>, so that no id is taken for a probe or an event
//	data       M  the caller's data, if any
//	started_at N  Unix milliseconds
//	renewed_at N  likewise, of the last write
//	ends_at    N  likewise; from then on it does not count, removed or not
//	rev        N  raised by one with every write; starts at the microsecond of the
//	              first
//	moved      N  only in the trace that a session leaves where it was, or may have
//	              been, when its write shard changes: the number of the new one. A late
//	              write can't bring it back there
//	expires_at N  Unix seconds: ends_at, rounded up
const (
	SessionData    = "data"
	SessionStarted = "started_at"
	SessionRenewed = "renewed_at"
	SessionEnds    = "ends_at"
	SessionRev     = "rev"
	SessionMoved   = "moved"
)

// SessionPrefix begins the sort keys of sessions.
const SessionPrefix = "s#"

// SessionKey returns the keys of a session on one write shard of its group.
func SessionKey(group, id string, n int) (pk, sk string) {
	return Key{Base: BaseKey{Sessions, group}, Shard: n}.String(), SessionPrefix + id
}

// ParseSessionSortKey is the inverse of SessionKey's sort key; ok is false for other
// items.
func ParseSessionSortKey(sk string) (id string, ok bool) {
	return strings.CutPrefix(sk, SessionPrefix)
}
