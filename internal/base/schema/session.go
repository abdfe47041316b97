package schema

import "strings"

// A session is one item of the items table. Only its row in the index by_group is sharded, so a
// change of the shard count moves no item:
//
//	pk            S  S#<group>#<id>
//	sk            S  s#<id>: shows where the id begins in pk, since groups and ids may
//	                 contain #. The prefix s# distinguishes sessions from probes and
//	                 markers. Also the index's sort key
//	session_shard S  S#<group>#<shard>; the index's partition key
//	data          M  the caller's data, if any
//	started_at    N  Unix milliseconds. The index has only this attribute, ends_at and the keys
//	renewed_at    N  Unix milliseconds of the last write. Each write raises it
//	ends_at       N  Unix milliseconds; from then on the session is not active
//	expires_at    N  Unix seconds, rounded up: the later of ends_at and two minutes after renewed_at
//
// A session that a call ended leaves an item with pk, sk, renewed_at and expires_at.
const (
	SessionData    = "data"
	SessionStarted = "started_at"
	SessionRenewed = "renewed_at"
	SessionEnds    = "ends_at"
)

// SessionPrefix begins the sort keys of sessions.
const SessionPrefix = "s#"

// SessionKey returns the keys of a session.
func SessionKey(group, id string) (pk, sk string) {
	return BaseKey{Session, group}.String() + "#" + id, SessionPrefix + id
}

// ParseSessionKey is the inverse of SessionKey; ok is false for the keys of other items.
func ParseSessionKey(pk, sk string) (group, id string, ok bool) {
	id, hasID := strings.CutPrefix(sk, SessionPrefix)
	rest, hasPrefix := strings.CutPrefix(pk, TraitsOf(Session).Prefix)
	group, endsWithID := strings.CutSuffix(rest, "#"+id)
	return group, id, hasID && hasPrefix && endsWithID
}

// SessionShardKey returns the index's partition key of a write shard of a group.
func SessionShardKey(group string, n int) string {
	return Key{Base: BaseKey{Session, group}, Shard: n}.String()
}
