package table

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Counts returns how many write shards a name has. It is [Fixed], or a [shardmap.Map], which many programs share and a
// [shardmap.Changer] changes. If a Counts of your own has a method Options() shardmap.Options, its EventAhead is how far
// ahead of now the times of items may be; otherwise they may be [shardmap.MaxAhead] ahead.
type Counts interface {
	// Lookup returns a key's counts as a function of time. For a Table the key is the name in the partition key.
	// Observers receive the entry's Key, or key if that is "".
	Lookup(ctx context.Context, key string, now time.Time) (shardmap.Entry, error)
}

// Fixed is a shard count that is the same for all names and never changes. It must be 1 to [shard.MaxShards].
type Fixed int

// always is the time from which a fixed count is in effect. It is earlier than any time for which a count is looked up.
var always = time.Time{}.Add(-time.Hour)

// Lookup returns the fixed count.
func (n Fixed) Lookup(_ context.Context, key string, _ time.Time) (shardmap.Entry, error) {
	if err := countsFault(n); err != nil {
		return shardmap.Entry{}, err
	}
	return shardmap.Entry{Key: key, History: shard.History{{At: always, Count: int(n)}}, Max: int(n)}, nil
}

// AtLeast gives a table with a Fixed count a shard map: every name has N write shards before the
// map's first change, and never fewer. A map alone returns 1 for a name that it does not have, so
// reads would miss the items on the other write shards.
//
//	readings.Shards = table.AtLeast{N: 16, Counts: shards} // was Fixed(16)
//
// Deploy AtLeast to all programs before a count is changed in the map. Keep it, with the same N, for as
// long as there are items from before that change.
//
// If write shards depend on an item's time, no stored item may be dated after its name's first change. Get, Update and
// Delete would miss such an item, and Put would make a second one. A Fixed count accepts items dated in the future, such
// as due dates; a map rejects items dated more than [shardmap.Options].EventAhead ahead. So wait until no stored item is
// dated further ahead, or let CalculatedSuffix.Time read another time, such as the item's creation.
type AtLeast struct {
	N      Fixed
	Counts Counts
}

// Lookup returns the map's counts, each raised to at least N.
func (a AtLeast) Lookup(ctx context.Context, key string, now time.Time) (shardmap.Entry, error) {
	if err := countsFault(a); err != nil {
		return shardmap.Entry{}, err
	}
	entry, err := a.Counts.Lookup(ctx, key, now)
	if err != nil {
		return shardmap.Entry{}, err
	}
	raised := slices.Clone(entry.History)
	for i := range raised {
		raised[i].Count = max(raised[i].Count, int(a.N))
	}
	// The count before the first change is N, unless older changes were dropped. A reset name has no changes.
	if len(raised) == 0 || !entry.Forgotten {
		raised = slices.Insert(raised, 0, shard.Change{At: always, Count: int(a.N)})
	}
	entry.History, entry.Max = raised, max(entry.Most(), int(a.N))
	return entry, nil
}

// countsFault returns an error that wraps ErrMisused if the counts are nil or out of range.
func countsFault(c Counts) error {
	switch c := c.(type) {
	case nil:
		return fmt.Errorf("%w: Counts is nil: set Fixed(10) or a shardmap.Map, for example", shard.ErrMisused)
	case Fixed:
		if c < 1 || c > shard.MaxShards {
			return fmt.Errorf("%w: the Fixed shard count is %d: want 1 to %d", shard.ErrMisused, c, shard.MaxShards)
		}
	case AtLeast:
		return cmp.Or(countsFault(c.N), countsFault(c.Counts))
	case *shardmap.Map:
		if c == nil {
			return fmt.Errorf("%w: the shardmap.Map is nil", shard.ErrMisused)
		}
	case *shardmap.Changer:
		if c == nil {
			return fmt.Errorf("%w: the shardmap.Changer is nil", shard.ErrMisused)
		}
	}
	return nil
}

// uncached returns counts whose look-ups read the shard map's table, so that they have all changes committed before.
// Counts that are not from a shardmap.Map stay as they are.
func uncached(c Counts) Counts {
	switch c := c.(type) {
	case currentReader:
		return currentCounts{c}
	case AtLeast:
		c.Counts = uncached(c.Counts)
		return c
	}
	return c
}

// currentReader is a shardmap.Map, or its Changer.
type currentReader interface {
	Current(ctx context.Context, key string) (shardmap.Entry, error)
}

type currentCounts struct{ currentReader }

// Lookup returns the entry that the shard map's table has.
func (c currentCounts) Lookup(ctx context.Context, key string, _ time.Time) (shardmap.Entry, error) {
	return c.Current(ctx, key)
}

// constantCount returns the count if it is the same for all names and never changes.
func constantCount(c Counts) (n Fixed, ok bool) {
	switch c := c.(type) {
	case Fixed:
		return c, true
	case AtLeast:
		n, ok = constantCount(c.Counts)
		return max(n, c.N), ok
	}
	return 0, false
}

// mayChangeCounts reports whether a table's counts may change.
func (t *Table) mayChangeCounts() bool {
	_, fixed := constantCount(t.Shards)
	return !fixed
}

// maxAhead returns how far ahead of now the times of items may lie if counts may change.
func maxAhead(c Counts) time.Duration {
	switch c := c.(type) {
	case interface{ Options() shardmap.Options }: // a shardmap.Map, and its Changer
		return c.Options().EventAhead
	case AtLeast:
		return maxAhead(c.Counts)
	}
	return shardmap.MaxAhead
}
