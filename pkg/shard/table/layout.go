package table

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/place"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Layout is a sharding pattern: where the items of a name go, and where a range of
// them is to be looked for. It is one of [RandomSuffix], [CalculatedSuffix],
// [TimeBuckets], [HybridBuckets] and [Unsharded].
type Layout interface {
	// fault is what is wrong with the layout on this table.
	fault(t *Table) error
	// places returns where an item goes, and after it where else it may be when
	// shard counts change; a random place is another one at each call.
	places(ctx context.Context, r Raw, name string, it Item) ([]place.Place, error)
	// found tells whether places depends on the item alone, so that it is found again,
	// and a repeated put is the same item.
	found() bool
	// tells names the attribute that tells items with equal sort keys apart, "" if the
	// sort key does it alone.
	tells(t *Table) string
	// partitions returns groups of partitions that hold a range, in the range's
	// order from group to group; within a group they are to be merged.
	partitions(ctx context.Context, r Raw, name string, s Span) (iter.Seq[[]partition], error)
}

// partition is one partition key of a range.
type partition struct {
	pk     string
	shard  int
	prefix string         // of the stored sort key; not shown to callers
	edge   place.Position // before everything in its bucket; zero without buckets
}

// Unsharded keeps a name's items under the plain name: a table as it is before
// sharding, for a Migration of package migrate to begin from. Its Table's Shards must be Fixed(1).
type Unsharded struct{}

func (Unsharded) found() bool { return true }

func (Unsharded) tells(*Table) string { return "" }

func (Unsharded) fault(t *Table) error {
	if n, ok := constant(t.Shards); !ok || n != 1 {
		return fmt.Errorf("an Unsharded table has Fixed(1) write shards")
	}
	return nil
}

func (Unsharded) places(_ context.Context, r Raw, name string, it Item) ([]place.Place, error) {
	return []place.Place{{PK: name, Sort: it[r.t.SortKey]}}, nil
}

func (Unsharded) partitions(_ context.Context, _ Raw, name string, _ Span) (iter.Seq[[]partition], error) {
	return func(yield func([]partition) bool) { yield([]partition{{pk: name}}) }, nil
}

// RandomSuffix spreads a name's items over name#0 to name#N-1 by chance: for writes
// that nobody looks up singly, such as log lines and clicks. A read of a range asks
// all N. An item that is put again may be on two write shards then, and read twice.
//
// When a [shardmap.Map] gives the count, N may grow and shrink at any time. Reads go on asking
// the largest N that the name ever had. A Fixed count that is lowered hides items.
type RandomSuffix struct{}

func (RandomSuffix) fault(*Table) error { return nil }

func (RandomSuffix) found() bool { return false }

func (RandomSuffix) tells(*Table) string { return "" }

func (RandomSuffix) places(ctx context.Context, r Raw, name string, it Item) ([]place.Place, error) {
	entry, err := r.lookup(ctx, name)
	if err != nil {
		return nil, err
	}
	n := shard.Random(entry.History.At(r.Now()))
	return []place.Place{{PK: r.t.join(name, n), Sort: it[r.t.SortKey]}}, nil
}

// partitions is one group of all write shards that the name ever had.
func (RandomSuffix) partitions(ctx context.Context, r Raw, name string, _ Span) (iter.Seq[[]partition], error) {
	entry, err := r.lookup(ctx, name)
	if err != nil {
		return nil, err
	}
	all := r.t.numbered(name, entry.Most())
	return func(yield func([]partition) bool) { yield(all) }, nil
}

// numbered lists n write shards of what stands before the suffix.
func (t *Table) numbered(base string, n int) []partition {
	list := make([]partition, n)
	for i := range list {
		list[i] = partition{pk: t.join(base, i), shard: i}
	}
	return list
}

// CalculatedSuffix spreads a name's items over name#0 to name#N-1 by an attribute of
// theirs (Table.Calculate), so that whoever knows it finds the item with one
// GetItem, and a repeated write replaces it. Keys of a Get, an Update or a Delete
// must have the attribute, too. A read of a range asks all N.
//
// Let sort keys end in the attribute: 2026-01-05T12:00:45.490Z#order-1234. Of items with
// equal sort keys there can be one on each write shard, and the put of another one is
// refused.
//
// An item that lacks the attribute, which another program may have written, is in
// ranges, but no key finds it, and it can't be told whose it is. The client's own
// UpdateItem on its stored key gives it one.
type CalculatedSuffix struct {
	// By is the attribute, text or a number, which no write of an item changes; default
	// the sort key.
	By string
	// Time gives an item's or key's own time, which never changes. When shard counts
	// change, an item's write shard is calculated with the count at this time, which
	// must not lie over [shardmap.Options].EventAhead ahead. It may be nil only with a Fixed count.
	Time func(Item) (time.Time, error)
}

func (c CalculatedSuffix) fault(t *Table) error {
	if t.changing() && c.Time == nil {
		return fmt.Errorf("CalculatedSuffix.Time is nil: when the shard count changes, only an item's own time tells its write shard")
	}
	return t.byFault(c.By)
}

func (CalculatedSuffix) found() bool { return true }

func (c CalculatedSuffix) tells(t *Table) string { return t.tells(c.by(t)) }

func (c CalculatedSuffix) by(t *Table) string {
	if c.By == "" {
		return t.SortKey
	}
	return c.By
}

func (c CalculatedSuffix) places(ctx context.Context, r Raw, name string, it Item) ([]place.Place, error) {
	by, err := r.t.by(it, c.by(r.t))
	if err != nil {
		return nil, err
	}
	at, err := c.time(r, it, by)
	if err != nil {
		return nil, err
	}
	entry, err := r.lookup(ctx, name)
	if err != nil {
		return nil, err
	}
	return r.t.calculated(name, it[r.t.SortKey], entry, by, at), nil
}

// time is the item's own, or the zero time. It is looked at before the counts are:
// what is as far ahead as allowed when a look-up ends may have been further when it
// began, and the counts are those of its begin.
func (c CalculatedSuffix) time(r Raw, it Item, by string) (time.Time, error) {
	if c.Time == nil {
		return time.Time{}, nil
	}
	at, err := c.Time(it)
	if err != nil {
		return at, fmt.Errorf("%w: the time of item %q: %w", shard.ErrMisused, by, err)
	}
	return at, r.notAhead(at)
}

// by is the value that an item's write shard is calculated from.
func (t *Table) by(it Item, attr string) (string, error) {
	value, ok := dynamo.Attribute(it, attr)
	if !ok {
		return "", fmt.Errorf("%w: the item with %s %q has no text or number %s to calculate its write shard from", shard.ErrMisused, t.SortKey, place.Spelled(it[t.SortKey]), attr)
	}
	return value, nil
}

// calculated lists where an item may be whose write shard is calculated: first where
// it belongs.
func (t *Table) calculated(base string, sort types.AttributeValue, entry shardmap.Entry, by string, at time.Time) []place.Place {
	numbers := entry.PlacesAt(t.calculate, by, at)
	list := make([]place.Place, len(numbers))
	for i, n := range numbers {
		list[i] = place.Place{PK: t.join(base, n), Sort: sort}
	}
	return list
}

func (CalculatedSuffix) partitions(ctx context.Context, r Raw, name string, s Span) (iter.Seq[[]partition], error) {
	return RandomSuffix{}.partitions(ctx, r, name, s)
}

// SortTime is a CalculatedSuffix.Time for sort keys that begin with a stamp.
func SortTime(sortKey string, stamp shard.Stamp) func(Item) (time.Time, error) {
	return func(it Item) (time.Time, error) {
		text, _ := dynamo.Attribute(it, sortKey)
		at, _, err := stamp.Parse(text)
		return at, err
	}
}

// AttributeTime is a CalculatedSuffix.Time for a number attribute of Unix seconds
// that keys must have, too.
func AttributeTime(name string) func(Item) (time.Time, error) {
	return func(it Item) (time.Time, error) {
		text, _ := dynamo.Attribute(it, name)
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return time.Time{}, fmt.Errorf("attribute %s is not a number of Unix seconds: %w", name, err)
		}
		return time.Unix(seconds, 0), nil
	}
}

// tells is what Layout.tells returns for an item's write shard calculated by an attribute.
func (t *Table) tells(by string) string {
	if by == t.SortKey {
		return ""
	}
	return by
}

// byFault is what is wrong with the attribute that write shards are calculated from.
func (t *Table) byFault(by string) error {
	if by == t.PartitionKey {
		return fmt.Errorf("attribute %s (By) is the partition key: all items of a name would be on one write shard", by)
	}
	return nil
}
