package table

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/place"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TimeBuckets divides a name's items into time buckets, name#2026-01-05#0 to name#2026-01-05#N-1, for time series that
// grow without end. The sort key begins with the item's time. A read of a range queries only its buckets, each with the
// N of its own time: after N has shrunk, newer ranges cost fewer queries.
//
// A range needs both ends: use [During].
type TimeBuckets struct {
	Bucket shard.Bucket // the width of a bucket; required
	Stamp  shard.Stamp  // how sort keys begin, as Stamp.Key makes them; default [shard.Millis]
	// By is the attribute from which an item's write shard is calculated, as in
	// CalculatedSuffix: let sort keys end in its value. If By is "", write shards are random: single
	// items can't be looked up, and puts use a larger count at once, as with a RandomSuffix.
	By string
}

func (b TimeBuckets) fault(t *Table) error {
	return cmp.Or(t.byFault(b.By), b.Bucket.Valid(), b.Stamp.Valid())
}

func (b TimeBuckets) findable() bool             { return b.By != "" }
func (b TimeBuckets) tieBreaker(t *Table) string { return t.tieBreaker(b.By) }

func (b TimeBuckets) places(ctx context.Context, r tableCall, name string, it Item) ([]place.Place, error) {
	t := r.t
	value, at, entry, err := r.inputsAndCounts(ctx, name, it)
	if err != nil {
		return nil, err
	}
	base, sort := t.bucketed(name, b.Bucket.Label(at)), it[t.SortKey]
	if b.findable() {
		return r.calculatedPlaces(name, base, sort, entry, value, at), nil
	}
	n := shard.Random(entry.CountOfNew(at))
	attempt := r.attempt(schema.OwnTimed, name, entry, n, at, place.SortText(sort))
	return []place.Place{{PK: t.join(base, n), Sort: sort, Attempt: attempt}}, nil
}

func (TimeBuckets) countKey(name string) string { return name }

// shardInputs returns an empty value if write shards are random.
func (b TimeBuckets) shardInputs(t *Table, _ string, it Item) (value string, at time.Time, err error) {
	if b.By != "" {
		value, err = t.shardValue(it, b.By)
	}
	if err == nil {
		at, err = t.stampTime(b.Stamp, it)
	}
	return value, at, err
}

func (b TimeBuckets) partitions(t *Table, entry shardmap.Entry, name string, s Span) (iter.Seq[[]partition], error) {
	return partitionsByBucket(b.Bucket, b.Stamp, s, func(w window) []partition {
		return t.firstShards(t.bucketed(name, w.label), entry.RangeShards(w.from, w.to))
	})
}

// HybridBuckets puts many names into few partition keys, 0#2026-01-05 to N-1#2026-01-05, with the name before the sort
// key: sensor-1#2026-01-05T12:00:00.125Z. A name's write shard is calculated from the name, so one Query reads a name's
// bucket. It suits many names with modest traffic each; a name that exceeds a partition's throughput needs TimeBuckets.
// Sort keys are text, and names must not contain the format's separator.
//
// A range needs both ends: use [During].
type HybridBuckets struct {
	Bucket shard.Bucket // the width of a bucket; required
	Stamp  shard.Stamp  // how sort keys begin, which must be text; default [shard.Millis]
	// Group is the key in Shards of the one count that all names share; it may be empty only with a Fixed count.
	Group string
}

func (h HybridBuckets) fault(t *Table) error {
	if h.Stamp.Number() {
		return fmt.Errorf("HybridBuckets.Stamp %s is a number, but the sort key holds the name: use a text stamp, such as shard.Millis", h.Stamp)
	}
	if t.mayChangeCounts() && h.Group == "" {
		return fmt.Errorf("HybridBuckets.Group is empty: set it to a key of the shard map, whose count all names share")
	}
	return cmp.Or(h.Bucket.Valid(), h.Stamp.Valid())
}

func (HybridBuckets) findable() bool           { return true }
func (HybridBuckets) tieBreaker(*Table) string { return "" }

func (h HybridBuckets) places(ctx context.Context, r tableCall, name string, it Item) ([]place.Place, error) {
	t := r.t
	prefix, err := h.namePrefix(t, name)
	if err != nil {
		return nil, err
	}
	_, at, entry, err := r.inputsAndCounts(ctx, name, it)
	if err != nil {
		return nil, err
	}
	label := h.Bucket.Label(at)
	sort := dynamo.String(prefix + dynamo.Text(it, t.SortKey))
	var list []place.Place
	for _, n := range entry.PlacesAt(t.calculate, name, at) {
		list = append(list, place.Place{PK: h.partitionKey(t, n, label), Sort: sort, Attempt: r.attempt(schema.OwnTimed, h.Group, entry, n, at, name)})
	}
	return list, nil
}

func (h HybridBuckets) countKey(string) string { return h.Group }

func (h HybridBuckets) shardInputs(t *Table, name string, it Item) (value string, at time.Time, err error) {
	at, err = t.stampTime(h.Stamp, it)
	return name, at, err
}

// namePrefix returns the name and the separator, which precede the name's sort keys.
func (h HybridBuckets) namePrefix(t *Table, name string) (string, error) {
	prefix, err := shard.Compose(t.keyFormat().Separator(), name, "")
	if err != nil {
		return "", fmt.Errorf("%w: %w", shard.ErrMisused, err)
	}
	return prefix, nil
}

func (h HybridBuckets) partitionKey(t *Table, n int, label string) string {
	return strconv.Itoa(t.First+n) + t.keyFormat().Separator() + label
}

func (h HybridBuckets) partitions(t *Table, entry shardmap.Entry, name string, s Span) (iter.Seq[[]partition], error) {
	prefix, err := h.namePrefix(t, name)
	if err != nil {
		return nil, err
	}
	return partitionsByBucket(h.Bucket, h.Stamp, s, func(w window) (list []partition) {
		for _, n := range entry.PlacesDuring(t.calculate, name, w.from, w.to) {
			list = append(list, partition{pk: h.partitionKey(t, n, w.label), shard: n, prefix: prefix})
		}
		return list
	})
}

// partitionsByBucket implements Layout.partitions for time buckets: each bucket of the span is a group. partitionsOf
// returns a bucket's partitions, whose field before is set afterwards.
func partitionsByBucket(b shard.Bucket, stamp shard.Stamp, s Span, partitionsOf func(window) []partition) (iter.Seq[[]partition], error) {
	windows, err := s.windows(b, stamp)
	if err != nil {
		return nil, err
	}
	return func(yield func([]partition) bool) {
		for w := range windows {
			list := partitionsOf(w)
			for i := range list {
				list[i].before = w.before(stamp, s.Desc)
			}
			if !yield(list) {
				return
			}
		}
	}, nil
}

// stampTime returns the time with which an item's sort key begins, or ErrMisused if the key does not begin with the stamp.
func (t *Table) stampTime(s shard.Stamp, it Item) (time.Time, error) {
	if _, number := it[t.SortKey].(*types.AttributeValueMemberN); number != s.Number() {
		return time.Time{}, fmt.Errorf("%w: the sort key %s must be of type N for a stamp that is a number, else of type S; the stamp is %q", shard.ErrMisused, t.SortKey, cmp.Or(s, shard.Millis))
	}
	text, _ := dynamo.Attribute(it, t.SortKey)
	at, _, err := s.Parse(text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: reading the time in sort key %s: %w", shard.ErrMisused, t.SortKey, err)
	}
	return at, nil
}
