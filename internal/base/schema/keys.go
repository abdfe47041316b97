package schema

import (
	"hash/fnv"
	"strings"
	"time"

	"github.com/hotshard/hotshard/pkg/shard"
)

// BaseKey is a caller's key before sharding.
type BaseKey struct {
	Type Kind
	Name string
}

// String returns the type's prefix and the name. It is also the base key's sort key in the shard map.
func (k BaseKey) String() string { return TraitsOf(k.Type).Prefix + k.Name }

// ParseBaseKey is the inverse of String.
func ParseBaseKey(s string) (BaseKey, error) {
	k, name, ok := CutKind(s)
	if !ok {
		return BaseKey{}, &shard.KeyError{Key: s, Reason: "it begins with no kind's prefix"}
	}
	return BaseKey{k, name}, nil
}

// Key is the parsed partition key of a write shard, in the items table or in the kind's index.
type Key struct {
	Base   BaseKey
	Bucket string // label of the time bucket; "" for a kind without one
	Shard  int
}

// String returns the partition key.
func (k Key) String() string {
	name := k.Base.String()
	if TraitsOf(k.Base.Type).Bucket != NoBucket {
		name += "#" + k.Bucket
	}
	return shard.Hash.Join(name, k.Shard)
}

// ParseKey is the inverse of Key.String. It returns an error for the partition keys of other items,
// such as markers, which have no base key.
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
	if cut := bucketCuts[TraitsOf(base.Type).Bucket]; cut != nil {
		var ok bool
		if key.Base.Name, key.Bucket, ok = cut(base.Name); !ok {
			return Key{}, &shard.KeyError{Key: pk, Reason: "it has no time bucket"}
		}
	}
	return key, nil
}

// parseKeyOf is ParseKey for the keys of one kind. For any other key it returns an error with this reason.
func parseKeyOf(k Kind, pk, reason string) (Key, error) {
	key, err := ParseKey(pk)
	if err != nil || key.Base.Type != k {
		return Key{}, &shard.KeyError{Key: pk, Reason: reason}
	}
	return key, nil
}

// bucketCuts has the functions that split the label of a time bucket from the end of a text.
var bucketCuts = map[Bucket]func(text string) (name, bucket string, ok bool){
	DayBucket:    func(text string) (name, bucket string, ok bool) { return cutLast(text, isDay) },
	PeriodBucket: func(text string) (name, bucket string, ok bool) { return cutLast(text, isPeriod) },
	WindowBucket: cutLimitBucket,
}

// cutLast splits a text at its last separator. ok is false if no label follows the separator.
func cutLast(text string, isLabel func(string) bool) (name, label string, ok bool) {
	end := strings.LastIndexByte(text, '#')
	if end < 0 || !isLabel(text[end+1:]) {
		return "", "", false
	}
	return text[:end], text[end+1:], true
}

func isDay(label string) bool {
	_, err := EventBucket.Start(label)
	return err == nil
}

// EventBucket is the time bucket of events.
const EventBucket = shard.Day

// TimeLayout is the layout of a time in sort keys: UTC, milliseconds, always 24 characters, so that
// text order is time order.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// EventSortKey returns the sort key that orders events of a partition by (time, id).
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

// ExpirySpread returns the delay of an event's expiry, less than a day, by a hash of the event's id. So DynamoDB spreads the
// deletes of a day's events over another day.
func ExpirySpread(id string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // a hash never returns an error
	return time.Duration(h.Sum32()%(24*60*60)) * time.Second
}

// CounterKey returns the primary key of a counter's write shard in the items table. Write shard 0 has a sort key of its own,
// by which the stream's filter keeps its records from the aggregator.
func CounterKey(counter string, n int) (pk, sk string) {
	sk = SoleSK
	if n > 0 {
		sk = TraitsOf(Counter).FoldedSK
	}
	return Key{Base: BaseKey{Counter, counter}, Shard: n}.String(), sk
}

// CounterMaxShards names an attribute of a counter's write shard 0: the set of each max_shards that a writer read from
// the shard map. Its largest element, which never falls, is the counter's max_shards. It is a set, because a writer can
// add to a set without reading it. The attribute is absent while the counter has had only one write shard.
const CounterMaxShards = "n"

// CallPrefix begins the partition keys of keyed calls' markers, in the items table.
const CallPrefix = "I#"

// SoleSK is the sort key of an item that is alone under its partition key.
const SoleSK = "-"

// ProbeSK is the sort key of a probe: an item that a writer puts into a write shard's partition to
// learn why a write was throttled. It sorts after all times, so no range of events contains it.
const ProbeSK = "~probe"

// EventBound returns a text that sorts after the sort keys of events before t, and before those of events from t on. It
// rounds t up to a millisecond.
func EventBound(t time.Time) string { return CeilMilli(t).Format(TimeLayout) }

// CeilMilli returns a time rounded up to a millisecond.
func CeilMilli(t time.Time) time.Time {
	down := t.UTC().Truncate(time.Millisecond)
	if down.Before(t) {
		return down.Add(time.Millisecond)
	}
	return down
}
