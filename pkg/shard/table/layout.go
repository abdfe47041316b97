package table

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/place"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Layout is a sharding pattern: it decides where a name's items go, and which partitions a
// range reads. It is one of [RandomSuffix], [CalculatedSuffix], [TimeBuckets] and [HybridBuckets].
type Layout interface {
	// fault returns why the layout does not fit the table, or nil.
	fault(t *Table) error
	// places returns the place where an item belongs, and then the places where the item may
	// also be after a change of the shard count. A random place differs from call to call.
	places(ctx context.Context, r tableCall, name string, it Item) ([]place.Place, error)
	// findable reports whether places depends on the item alone, so that a look-up finds the item and
	// a repeated put replaces it.
	findable() bool
	// tieBreaker returns the attribute that distinguishes items with equal sort keys, "" if the
	// sort key alone identifies an item.
	tieBreaker(t *Table) string
	// countKey returns the key in Table.Shards of a name's counts.
	countKey(name string) string
	// shardInputs returns the value and the time from which an item's write shard is calculated. Each is zero
	// if the layout does not use it.
	shardInputs(t *Table, name string, it Item) (value string, at time.Time, err error)
	// partitions returns the partitions of a range of a name, in groups, by the name's counts. The groups are in the
	// range's order; the caller merges the items within each group.
	partitions(t *Table, entry shardmap.Entry, name string, s Span) (iter.Seq[[]partition], error)
}

// partition is one partition key of a range.
type partition struct {
	pk     string
	shard  int
	prefix string         // of the stored sort keys; callers see the keys without the prefix
	before place.Position // the position before the bucket's first item; zero without buckets
}

// RandomSuffix spreads a name's items over name#0 to name#N-1 at random, for items that are
// never looked up singly, such as log lines and clicks. A read of a range queries all N. An
// item that is put again may be on two write shards, and is then read twice.
//
// With the count from a [shardmap.Map], N may grow and shrink at any time: reads query the
// largest N that the name ever had. Puts use a larger N at once, so a read that is not Consistent and has no cursor may
// miss items of the last second. Lowering a Fixed count hides items. With PlainFirst, puts go to the plain key while the
// map can't be read; reads fail.
type RandomSuffix struct{}

func (RandomSuffix) fault(*Table) error          { return nil }
func (RandomSuffix) findable() bool              { return false }
func (RandomSuffix) tieBreaker(*Table) string    { return "" }
func (RandomSuffix) countKey(name string) string { return name }

func (RandomSuffix) places(ctx context.Context, r tableCall, name string, it Item) ([]place.Place, error) {
	entry, err := r.lookup(ctx, name)
	if errors.Is(err, shard.ErrStale) && r.t.PlainFirst { // write shard 0 exists at any count
		return []place.Place{{PK: r.t.join(name, 0), Sort: it[r.t.SortKey]}}, nil
	}
	if err != nil {
		return nil, err
	}
	now := r.now()
	n := shard.Random(entry.CountOfNew(now))
	return []place.Place{{PK: r.t.join(name, n), Sort: it[r.t.SortKey], Attempt: r.attempt(schema.OwnRandom, name, entry, n, now, "")}}, nil
}

func (RandomSuffix) shardInputs(*Table, string, Item) (value string, at time.Time, err error) {
	return "", time.Time{}, nil
}

// partitions returns one group: all write shards that the name ever had.
func (RandomSuffix) partitions(t *Table, entry shardmap.Entry, name string, _ Span) (iter.Seq[[]partition], error) {
	return slices.Values([][]partition{t.firstShards(name, entry.Most())}), nil
}

// firstShards returns the partitions of the write shards 0 to n-1 of a base, which is a name or a name's time bucket.
func (t *Table) firstShards(base string, n int) []partition {
	list := make([]partition, n)
	for i := range list {
		list[i] = partition{pk: t.join(base, i), shard: i}
	}
	return list
}

// CalculatedSuffix spreads a name's items over name#0 to name#N-1 by an attribute of the item (Table.Calculate). So one
// GetItem finds an item by that attribute, and a repeated put replaces it. The keys of Get, Update and Delete must have
// the attribute, too. A read of a range queries all N.
//
// Let sort keys end in the attribute: 2026-01-05T12:00:45.490Z#order-1234. Each write shard
// holds one item of a sort key, and rejects the put of another with the same sort key.
//
// An item without the attribute, which another program may have written, is in ranges, but
// no key finds it. Add the attribute with the client's own UpdateItem on the stored key.
type CalculatedSuffix struct {
	// By is the attribute, text or a number, that no write of an item changes; default the sort key.
	By string
	// Time returns the item's own time from an item or a key; it never changes. If shard
	// counts change, the count at this time decides the write shard. The time may lie at
	// most [shardmap.Options].EventAhead ahead. Time may be nil only with a Fixed count.
	Time func(Item) (time.Time, error)
}

func (c CalculatedSuffix) fault(t *Table) error {
	if t.mayChangeCounts() && c.Time == nil {
		return fmt.Errorf("CalculatedSuffix.Time is nil: set it to SortTime or AttributeTime, since an item's time determines its write shard if the shard count changes")
	}
	return t.byFault(c.By)
}

func (CalculatedSuffix) findable() bool               { return true }
func (c CalculatedSuffix) tieBreaker(t *Table) string { return t.tieBreaker(c.attribute(t)) }
func (CalculatedSuffix) countKey(name string) string  { return name }

func (c CalculatedSuffix) attribute(t *Table) string {
	if c.By == "" {
		return t.SortKey
	}
	return c.By
}

func (c CalculatedSuffix) places(ctx context.Context, r tableCall, name string, it Item) ([]place.Place, error) {
	value, at, entry, err := r.inputsAndCounts(ctx, name, it)
	if err != nil {
		return nil, err
	}
	return r.calculatedPlaces(name, name, it[r.t.SortKey], entry, value, at), nil
}

// shardInputs returns the zero time if the layout has no Time.
func (c CalculatedSuffix) shardInputs(t *Table, _ string, it Item) (value string, at time.Time, err error) {
	value, err = t.shardValue(it, c.attribute(t))
	if err != nil || c.Time == nil {
		return value, time.Time{}, err
	}
	if at, err = c.Time(it); err != nil {
		err = fmt.Errorf("%w: reading the time of the item with %s %q: %w", shard.ErrMisused, c.attribute(t), value, err)
	}
	return value, at, err
}

// inputsAndCounts returns the value, the time and the counts from which an item's write shard is calculated. If the
// time is too far ahead, it looks up no counts and returns ErrMisused.
func (r tableCall) inputsAndCounts(ctx context.Context, name string, it Item) (value string, at time.Time, entry shardmap.Entry, err error) {
	value, at, err = r.t.Layout.shardInputs(r.t, name, it)
	if err == nil && !at.IsZero() {
		err = r.checkNotAhead(at)
	}
	if err == nil {
		entry, err = r.lookup(ctx, r.t.Layout.countKey(name))
	}
	return value, at, entry, err
}

// shardValue returns the attribute's value, from which an item's write shard is calculated.
func (t *Table) shardValue(it Item, attribute string) (string, error) {
	value, ok := dynamo.Attribute(it, attribute)
	if !ok {
		return "", fmt.Errorf("%w: the item with %s %q needs a string or number %s, from which its write shard is calculated", shard.ErrMisused, t.SortKey, place.SortText(it[t.SortKey]), attribute)
	}
	return value, nil
}

// calculatedPlaces implements Layout.places for write shards of a base that are calculated from a value.
func (r tableCall) calculatedPlaces(name, base string, sort types.AttributeValue, entry shardmap.Entry, value string, at time.Time) []place.Place {
	numbers := entry.PlacesAt(r.t.calculate, value, at)
	list := make([]place.Place, len(numbers))
	for i, n := range numbers {
		list[i] = place.Place{PK: r.t.join(base, n), Sort: sort, Attempt: r.attempt(schema.OwnTimed, name, entry, n, at, value)}
	}
	return list
}

func (CalculatedSuffix) partitions(t *Table, entry shardmap.Entry, name string, s Span) (iter.Seq[[]partition], error) {
	return RandomSuffix{}.partitions(t, entry, name, s)
}

// tieBreaker implements Layout.tieBreaker for write shards calculated from the attribute by.
func (t *Table) tieBreaker(by string) string {
	if by == t.SortKey {
		return ""
	}
	return by
}

// byFault returns an error if the attribute by is the partition key.
func (t *Table) byFault(by string) error {
	if by == t.PartitionKey {
		return fmt.Errorf("attribute %s (By) is the partition key: all items of a name would be on one write shard", by)
	}
	return nil
}
