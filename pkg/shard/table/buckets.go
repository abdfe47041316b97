package table

import (
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

// TimeBuckets divides a name's items into time buckets, name#2026-01-05#0 to
// name#2026-01-05#N-1, for time series that grow without end. The sort key begins
// with the item's time. A read of a range queries only its buckets, each with the N of its own
// time: after N has shrunk, newer ranges cost fewer queries.
//
// A range needs both ends: use [During].
type TimeBuckets struct {
	Bucket shard.Bucket // the width of a bucket; required
	Stamp  shard.Stamp  // how sort keys begin, as Stamp.Key makes them; default [shard.Millis]
	// By is the attribute from which an item's write shard is calculated, as in
	// CalculatedSuffix: let sort keys end in it. With "", write shards are random, single
	// items can't be looked up, and puts use a larger count at once, as with a RandomSuffix.
	By string
}

func (b TimeBuckets) fault(t *Table) error {
	if err := t.byFault(b.By); err != nil {
		return err
	}
	return bucketFault(b.Bucket, b.Stamp)
}

func (b TimeBuckets) findable() bool             { return b.By != "" }
func (b TimeBuckets) tieBreaker(t *Table) string { return t.tieBreaker(b.By) }

func (b TimeBuckets) places(ctx context.Context, r raw, name string, it Item) ([]place.Place, error) {
	t := r.t
	by, at, entry, err := r.findOwn(ctx, name, it)
	if err != nil {
		return nil, err
	}
	base := t.bucketed(name, b.Bucket.Label(at))
	if b.By == "" {
		n := shard.Random(entry.CountOfNew(at))
		return []place.Place{{PK: t.join(base, n), Sort: it[t.SortKey], Sent: r.sent(schema.OwnTimed, name, entry, n, at, place.SortText(it[t.SortKey]))}}, nil
	}
	return r.calculated(name, base, it[t.SortKey], entry, by, at), nil
}

func (TimeBuckets) countKey(name string) string { return name }

// own returns an empty value if write shards are random.
func (b TimeBuckets) own(t *Table, _ string, it Item) (by string, at time.Time, err error) {
	if b.By != "" {
		by, err = t.by(it, b.By)
	}
	if err == nil {
		at, err = t.stamped(b.Stamp, it)
	}
	return by, at, err
}

func (b TimeBuckets) partitions(t *Table, entry shardmap.Entry, name string, s Span) (iter.Seq[[]partition], error) {
	return inBuckets(b.Bucket, b.Stamp, s, func(w window) []partition {
		return t.numbered(t.bucketed(name, w.label), entry.RangeShards(w.from, w.to))
	})
}

// HybridBuckets puts many names into few partition keys, 0#2026-01-05 to
// N-1#2026-01-05, with the name before the sort key: sensor-1#2026-01-05T12:00:00.125Z.
// A name's write shard is calculated from the name, so one Query reads a name's bucket.
// It suits many names with modest traffic each; a name that exceeds a partition's
// throughput needs TimeBuckets. Sort keys are text, and names must not contain the
// format's separator.
//
// A range needs both ends: use [During].
type HybridBuckets struct {
	Bucket shard.Bucket // the width of a bucket; required
	Stamp  shard.Stamp  // how sort keys begin, which must be text; default [shard.Millis]
	// Group is the key in Shards of the one count that all names share; it may be empty only
	// with a Fixed count.
	Group string
}

func (h HybridBuckets) fault(t *Table) error {
	if h.Stamp.Number() {
		return fmt.Errorf("HybridBuckets.Stamp %s is a number, but the sort key holds the name", h.Stamp)
	}
	if t.changing() && h.Group == "" {
		return fmt.Errorf("HybridBuckets.Group is empty: set the shard map's key of the count that all names share")
	}
	return bucketFault(h.Bucket, h.Stamp)
}

func (HybridBuckets) findable() bool           { return true }
func (HybridBuckets) tieBreaker(*Table) string { return "" }

func (h HybridBuckets) places(ctx context.Context, r raw, name string, it Item) ([]place.Place, error) {
	t := r.t
	prefix, err := h.prefix(t, name)
	if err != nil {
		return nil, err
	}
	_, at, entry, err := r.findOwn(ctx, name, it)
	if err != nil {
		return nil, err
	}
	label := h.Bucket.Label(at)
	sort := dynamo.String(prefix + dynamo.Text(it, t.SortKey))
	var list []place.Place
	for _, n := range entry.PlacesAt(t.calculate, name, at) {
		list = append(list, place.Place{PK: h.key(t, n, label), Sort: sort, Sent: r.sent(schema.OwnTimed, h.Group, entry, n, at, name)})
	}
	return list, nil
}

func (h HybridBuckets) countKey(string) string { return h.Group }

func (h HybridBuckets) own(t *Table, name string, it Item) (by string, at time.Time, err error) {
	at, err = t.stamped(h.Stamp, it)
	return name, at, err
}

// prefix returns the name and the separator, which precede the name's sort keys.
func (h HybridBuckets) prefix(t *Table, name string) (string, error) {
	prefix, err := shard.Compose(t.keyFormat().Separator(), name, "")
	if err != nil {
		return "", fmt.Errorf("%w: %w", shard.ErrMisused, err)
	}
	return prefix, nil
}

func (h HybridBuckets) key(t *Table, n int, label string) string {
	return strconv.Itoa(t.First+n) + t.keyFormat().Separator() + label
}

func (h HybridBuckets) partitions(t *Table, entry shardmap.Entry, name string, s Span) (iter.Seq[[]partition], error) {
	prefix, err := h.prefix(t, name)
	if err != nil {
		return nil, err
	}
	return inBuckets(h.Bucket, h.Stamp, s, func(w window) (list []partition) {
		for _, n := range entry.PlacesDuring(t.calculate, name, w.from, w.to) {
			list = append(list, partition{pk: h.key(t, n, w.label), shard: n, prefix: prefix})
		}
		return list
	})
}

// inBuckets yields the partitions of each bucket of a span, each with the bucket's edge.
func inBuckets(b shard.Bucket, stamp shard.Stamp, s Span, partitionsOf func(window) []partition) (iter.Seq[[]partition], error) {
	cut, err := cutSpan(b, stamp, s)
	if err != nil {
		return nil, err
	}
	return func(yield func([]partition) bool) {
		for w := range cut.windows(s.Desc) {
			list := partitionsOf(w)
			for i := range list {
				list[i].edge = w.edge(stamp, s.Desc)
			}
			if !yield(list) {
				return
			}
		}
	}, nil
}

func bucketFault(b shard.Bucket, s shard.Stamp) error {
	if err := b.Valid(); err != nil {
		return err
	}
	return s.Valid()
}

// stamped returns the time with which an item's sort key begins.
func (t *Table) stamped(s shard.Stamp, it Item) (time.Time, error) {
	if _, number := it[t.SortKey].(*types.AttributeValueMemberN); number != s.Number() {
		return time.Time{}, fmt.Errorf("%w: the type of %s does not match the stamp %q", shard.ErrMisused, t.SortKey, string(s))
	}
	text, _ := dynamo.Attribute(it, t.SortKey)
	at, _, err := s.Parse(text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: %s: %w", shard.ErrMisused, t.SortKey, err)
	}
	return at, nil
}
