package schema

import (
	"hash/fnv"
	"strings"
	"time"

	"github.com/hotshard/hotshard/pkg/shard"
)

// Type is the kind of a base key.
type Type string

// The types, as callers name them.
const (
	Entity   Type = "entity"
	Counter  Type = "counter"
	Board    Type = "board"
	Sessions Type = "sessions"
	Limit    Type = "limit"
)

var prefixes = map[Type]string{Entity: "E#", Counter: "C#", Board: "L#", Sessions: "S#", Limit: "R#"}

// Indexed tells whether the type's write shards are partition keys of an index: of boards
// and of groups of sessions, whose items in the table are not sharded.
func (t Type) Indexed() bool { return t == Board || t == Sessions }

// BaseKey is a caller's key before sharding.
type BaseKey struct {
	Type Type
	Name string
}

// String returns the base key's own text, which is also its sort key in the
// shard map: the type's prefix and the name.
func (k BaseKey) String() string { return prefixes[k.Type] + k.Name }

// ParseBaseKey is the inverse of String.
func ParseBaseKey(s string) (BaseKey, error) {
	for t, prefix := range prefixes {
		if name, ok := strings.CutPrefix(s, prefix); ok {
			return BaseKey{t, name}, nil
		}
	}
	return BaseKey{}, &shard.KeyError{Key: s, Reason: "it has no type's prefix"}
}

// Key is a partition key of the items table, taken apart.
type Key struct {
	Base   BaseKey
	Bucket string // label of the time bucket: an entity's day, a limit's window; "" for others
	Shard  int
}

// String returns the partition key.
func (k Key) String() string {
	name := k.Base.String()
	if k.Base.Type == Entity || k.Base.Type == Limit {
		name += "#" + k.Bucket
	}
	return shard.Hash.Join(name, k.Shard)
}

// ParseKey is the inverse of Key.String for entities, counters, boards and groups of
// sessions (their partition keys in an index), and limits. Other items (markers, heat) have
// no base key, and give an error.
func ParseKey(pk string) (Key, error) {
	name, n, err := shard.Hash.Split(pk)
	if err != nil {
		return Key{}, err
	}
	base, err := ParseBaseKey(name)
	if err != nil {
		return Key{}, err
	}
	key := Key{Base: base, Shard: n}
	ok := true
	switch base.Type {
	case Entity:
		key.Base.Name, key.Bucket, ok = cutDay(base.Name)
	case Limit:
		key.Base.Name, key.Bucket, ok = cutLimitBucket(base.Name)
	}
	if !ok {
		return Key{}, &shard.KeyError{Key: pk, Reason: "it has no time bucket"}
	}
	return key, nil
}

// cutDay takes the label of an event's bucket off a name that ends with one.
func cutDay(name string) (entity, bucket string, ok bool) {
	at := strings.LastIndexByte(name, '#')
	if at < 0 {
		return "", "", false
	}
	_, err := EventBucket.Start(name[at+1:], 0)
	return name[:at], name[at+1:], err == nil
}

// EventBucket is the width of an event's bucket.
const EventBucket = shard.Day

// TimeLayout is the form of a time in sort keys: UTC, milliseconds, always 24
// characters, so that text order is time order.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// EventSortKey orders the events of a partition by (time, id).
func EventSortKey(t time.Time, id string) string {
	return t.UTC().Format(TimeLayout) + "#" + id
}

// ParseEventSortKey is the inverse of EventSortKey.
func ParseEventSortKey(sk string) (t time.Time, id string, err error) {
	const n = len(TimeLayout)
	if len(sk) <= n || sk[n] != '#' {
		return t, "", &shard.KeyError{Key: sk, Reason: "it is not an event's sort key"}
	}
	if t, err = time.Parse(TimeLayout, sk[:n]); err != nil {
		return t, "", &shard.KeyError{Key: sk, Reason: "it does not start with a time"}
	}
	return t, sk[n+1:], nil
}

// ExpirySpread is how much later an event expires than the first of its day may: whole
// seconds below a day, by its id, so that a day's events are not all deleted at once.
func ExpirySpread(id string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // it never fails
	return time.Duration(h.Sum32()%(24*60*60)) * time.Second
}

// SoleSK is the sort key of an item that has its partition key to itself.
const SoleSK = "-"

// ProbeSK is the sort key of a probe: an item that a writer puts beside a write
// shard's own to learn why a write that came without a reason was throttled. Time
// sorts before it, so no range of events holds one.
const ProbeSK = "~probe"

// EventBound is the sort key before all events of the first millisecond that is not
// before t.
func EventBound(t time.Time) string { return CeilMilli(t).Format(TimeLayout) }

// CeilMilli rounds a time up to a millisecond.
func CeilMilli(t time.Time) time.Time {
	down := t.UTC().Truncate(time.Millisecond)
	if down.Before(t) {
		return down.Add(time.Millisecond)
	}
	return down
}
