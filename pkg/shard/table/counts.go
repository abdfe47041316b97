package table

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Counts says how many write shards a name has: [Fixed], or a [shardmap.Map], which many
// programs share and a [shardmap.Changer] changes. How far ahead the times of items may lie is
// asked of any that has Options() shardmap.Options.
type Counts interface {
	// Lookup returns the counts of a key as a function of time. For a Table it is
	// the name in the partition key; see [Namespace].
	Lookup(ctx context.Context, key string, now time.Time) (shardmap.Entry, error)
}

// Fixed is a shard count that is the same for all names and never changes. It must
// be 1 to [shard.MaxShards].
type Fixed int

// always is before any time that an item has, the zero time and margin before it
// included: a fixed count is in force at all of them.
var always = time.Time{}.Add(-time.Hour)

// Lookup returns the fixed count.
func (n Fixed) Lookup(context.Context, string, time.Time) (shardmap.Entry, error) {
	if n < 1 || n > shard.MaxShards {
		return shardmap.Entry{}, fmt.Errorf("%w: a shard count of %d is not 1 to %d", shard.ErrMisused, n, shard.MaxShards)
	}
	return shardmap.Entry{History: shard.History{{At: always, Count: int(n)}}, Max: int(n)}, nil
}

// Namespace puts a prefix before names to make their keys in a shard map, so that
// several tables share one: Namespace{"orders/", shards}. Tables that share a map
// with hotshard's functions need one.
type Namespace struct {
	Prefix string
	Counts Counts
}

// errNoCounts is the error of a wrapper around nothing.
var errNoCounts = fmt.Errorf("%w: Counts is nil", shard.ErrMisused)

// Lookup asks for the key with the prefix.
func (n Namespace) Lookup(ctx context.Context, key string, now time.Time) (shardmap.Entry, error) {
	if n.Counts == nil {
		return shardmap.Entry{}, errNoCounts
	}
	return n.Counts.Lookup(ctx, n.Prefix+key, now)
}

// AtLeast is how a table that had a Fixed count goes over to a shard map: every name
// has N write shards before the map's first change, and never fewer. A map alone says
// 1 of a name that it does not have, and items on the others would not be found.
//
//	orders.Shards = table.AtLeast{N: 10, Counts: shards} // was Fixed(10)
//
// Deploy it to all programs before a name's count is changed in the map. It stays for
// as long as there are items from before.
//
// Beware of items dated ahead, by a due date for one, where write shards depend on time.
// A Fixed count takes them, a map refuses new ones ([shardmap.Options].EventAhead), and also
// keys of those that are there. From the first change of a name's count on, an item of later than it
// that was written under the Fixed count is looked for where the new count puts it: it is
// hidden from Get and Update, a Delete passes it by, and a Put makes a second one. So no
// item may be dated after its name's first change. Count what lies further ahead
// before it, and wait until there is none, or let CalculatedSuffix.Time read another
// time, such as the item's making.
type AtLeast struct {
	N      Fixed
	Counts Counts
}

// Lookup returns the map's counts, and N where they are lower.
func (a AtLeast) Lookup(ctx context.Context, key string, now time.Time) (shardmap.Entry, error) {
	floor, err := a.N.Lookup(ctx, key, now)
	if err == nil && a.Counts == nil {
		err = errNoCounts
	}
	if err != nil {
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
	// Older changes that are forgotten leave some; a name that was reset has none.
	if len(raised) == 0 || !entry.Forgotten {
		raised = slices.Concat(floor.History, raised)
	}
	entry.History, entry.Max = raised, max(entry.Most(), int(a.N))
	return entry, nil
}

// constant tells whether counts never change, and what they are.
func constant(c Counts) (n Fixed, ok bool) {
	switch c := c.(type) {
	case Fixed:
		return c, true
	case Namespace:
		return constant(c.Counts)
	case AtLeast:
		n, ok = constant(c.Counts)
		return max(n, c.N), ok
	}
	return 0, false
}

// changing tells whether a table's counts change as time goes on.
func (t *Table) changing() bool {
	_, fixed := constant(t.Shards)
	return !fixed
}

// aheadOf is how far ahead the times of items may lie.
func aheadOf(c Counts) time.Duration {
	switch c := c.(type) {
	case interface{ Options() shardmap.Options }: // as a map has, and its changer
		return c.Options().EventAhead
	case Namespace:
		return aheadOf(c.Counts)
	case AtLeast:
		return aheadOf(c.Counts)
	}
	return shardmap.MaxAhead
}
