package schema

import (
	"strings"

	"github.com/hotshard/hotshard/pkg/shard"
)

// A session is one item of the items table. Only its place in the index by_group is
// sharded, so that a change of the shard count moves nobody:
//
//	pk            S  S#<group>#<id>
//	sk            S  s#<id>, since both may contain the separator; with the prefix no id
//	                 is taken for a probe or a mark. The index's sort key, too
//	session_shard S  S#<group>#<shard>; the index's partition key
//	data          M  the caller's data, if any
//	started_at    N  Unix milliseconds
//	renewed_at    N  likewise, of the last write
//	ends_at       N  likewise; from then on it does not count, removed or not. The
//	                 index has it, and none of the others
//	expires_at    N  Unix seconds: ends_at, rounded up
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
	return BaseKey{Sessions, group}.String() + "#" + id, SessionPrefix + id
}

// ParseSessionKey is the inverse of SessionKey; ok is false for other items.
func ParseSessionKey(pk, sk string) (group, id string, ok bool) {
	id, session := strings.CutPrefix(sk, SessionPrefix)
	rest, ofType := strings.CutPrefix(pk, prefixes[Sessions])
	group, ends := strings.CutSuffix(rest, "#"+id)
	return group, id, session && ofType && ends
}

// SessionShardKey returns the index's partition key of a write shard of a group.
func SessionShardKey(group string, n int) string {
	return Key{Base: BaseKey{Sessions, group}, Shard: n}.String()
}

// ParseSessionShardKey is the inverse of SessionShardKey.
func ParseSessionShardKey(key string) (group string, n int, err error) {
	parsed, err := ParseKey(key)
	if err == nil && parsed.Base.Type != Sessions {
		err = &shard.KeyError{Key: key, Reason: "it is not a group's in the index"}
	}
	return parsed.Base.Name, parsed.Shard, err
}
