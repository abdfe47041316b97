package migrate

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// Client is what a Migration calls of DynamoDB, beside what its tables call.
// Both tables are in its account and Region.
type Client interface {
	dynamo.Transactor
	dynamo.TransactGetter
}

// Phase is how far a Migration has come. The zero value changes nothing yet.
type Phase int

// The phases, in their order. All programs must have come to one before any goes on
// to the next; while they go, some are in the one and some in the other. A phase is the
// whole table's: what it asks of Verify, Prune, Copy and Drop is to be done for every name
// that has items before any program goes on. A name that was left out has nothing where
// the next phase reads. The caller lists the names; a Migration does not know them.
const (
	// WriteOld writes and reads the old shards. Verify tells whether the new places are
	// free, for every name.
	WriteOld Phase = iota
	// WriteBoth writes both, in one transaction, and reads the old. Once all programs
	// are there, Prune takes away what those in the phase before deleted, and Copy
	// brings the new up to the old, of every name.
	WriteBoth
	// ReadNew writes both and reads the new. It needs a Verify without differences of
	// every name.
	// The way back to WriteBoth is open.
	ReadNew
	// WriteNew writes and reads the new. There is no way back. Once all programs are
	// there, Drop deletes the old of every name, and then the new Table does without a
	// Migration.
	WriteNew
)

// Migration moves the items of a table that was sharded with a fixed count, or in
// another format or layout, to new write shards, while programs read and write: dual
// write, then read new, then drop old. It stands in for the Table in a program.
//
// Writes to both cost four times the write units of one. From and To may be one
// table. To must find items by what is in them (not a RandomSuffix), so that an item
// that is copied and written at once is one item. A random suffix of one format needs
// no migration to have another count: first readers get the larger one, then writers.
//
// What tells items with equal sort keys apart in one of them must not change: a write
// that would make two items one, or one two, is refused with ErrMisused.
//
// Within one table no name may have old items where another has new ones: with
// Unsharded to a CalculatedSuffix of ten, a name "acme#2" where "acme" is to be sharded.
// Give the new ones another Format or table then.
type Migration struct {
	Client   Client
	From, To *table.Table
	Phase    Phase
	// TTL is the attribute by which DynamoDB's TTL deletes items, a number of Unix seconds,
	// if it does. What has expired is not copied, and no difference: TTL deletes the old and the
	// new at different times.
	TTL string
}

// side is one of a migration's tables in a call.
type side struct {
	*table.Table
	raw table.Raw
}

// call is one call of a migration's.
type call struct {
	*Migration
	from, to side
}

// begin begins a call of the time now, if the migration is sound.
func (m *Migration) begin(now time.Time) (*call, error) {
	if m.Client == nil || m.From == nil || m.To == nil {
		return nil, fmt.Errorf("%w: a Migration needs Client, From and To", shard.ErrMisused)
	}
	if m.Phase < WriteOld || m.Phase > WriteNew {
		return nil, fmt.Errorf("%w: a Migration has no phase %d", shard.ErrMisused, m.Phase)
	}
	for _, t := range []*table.Table{m.From, m.To} {
		if err := t.Check(); err != nil {
			return nil, err
		}
	}
	c := &call{m, side{m.From, m.From.Raw(now)}, side{m.To, m.To.Raw(now)}}
	switch {
	case m.From.PartitionKey != m.To.PartitionKey || m.From.SortKey != m.To.SortKey:
		return nil, fmt.Errorf("%w: a Migration from %s to %s: their keys have different names", shard.ErrMisused, m.From.Name, m.To.Name)
	case !c.to.raw.Finds():
		return nil, fmt.Errorf("%w: a Migration to %s: its layout can't find an item again", shard.ErrMisused, m.To.Name)
	case !c.from.raw.Finds() && m.From.Name == m.To.Name && cmp.Or(m.From.Format, shard.Hash) == cmp.Or(m.To.Format, shard.Hash):
		return nil, fmt.Errorf("%w: a Migration within %s: the old items' places are random, so the new ones need another Format", shard.ErrMisused, m.To.Name)
	}
	return c, nil
}

// beginIn begins a call of an operation that is for some phases.
func (m *Migration) beginIn(operation string, now time.Time, phases ...Phase) (*call, error) {
	c, err := m.begin(now)
	if err == nil && !slices.Contains(phases, m.Phase) {
		err = fmt.Errorf("%w: %s is not for phase %d of a Migration", shard.ErrMisused, operation, m.Phase)
	}
	return c, err
}

// describe says which operation failed, on what.
func describe(t *table.Table, operation, name string, err error) error {
	return fmt.Errorf("%s %q of table %s: %w", operation, name, t.Name, err)
}

// dual tells whether both are written.
func (p Phase) dual() bool { return p == WriteBoth || p == ReadNew }

// truth is the table that is read.
func (c *call) truth() side {
	if c.Phase >= ReadNew {
		return c.to
	}
	return c.from
}

// reads is the table that is read, as the migration reads it: in one table the other's items are
// beside its own.
func (c *call) reads() *table.Table {
	truth := c.truth()
	if c.From.Name == c.To.Name && truth.raw.Finds() {
		return truth.raw.Placed()
	}
	return truth.Table
}

// Query streams a range as [table.Table.Query] does.
func (m *Migration) Query(ctx context.Context, name string, s table.Span, now time.Time) iter.Seq2[table.Item, error] {
	c, err := m.begin(now)
	if err != nil {
		return func(yield func(table.Item, error) bool) { yield(nil, err) }
	}
	return c.reads().Query(ctx, name, s, now)
}

// Page reads a page as [table.Table.Page] does. Pages go on over a change of phase when
// the old items can be found by what is in them.
func (m *Migration) Page(ctx context.Context, name string, s table.Span, now time.Time) (table.Page, error) {
	c, err := m.begin(now)
	if err != nil {
		return table.Page{}, err
	}
	return c.reads().Page(ctx, name, s, now)
}

// Count counts a range as [table.Table.Count] does. Within one table it reads all items.
func (m *Migration) Count(ctx context.Context, name string, s table.Span, now time.Time) (int, error) {
	c, err := m.begin(now)
	if err != nil {
		return 0, err
	}
	return c.reads().Count(ctx, name, s, now)
}

// Get reads one item as [table.Table.Get] does.
func (m *Migration) Get(ctx context.Context, key table.Item, now time.Time) (table.Item, error) {
	c, err := m.begin(now)
	if err != nil {
		return nil, err
	}
	return c.reads().Get(ctx, key, now)
}
