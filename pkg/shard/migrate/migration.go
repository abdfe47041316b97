package migrate

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
	"github.com/hotshard/hotshard/pkg/shard/internal/place"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// Client has the DynamoDB calls of a Migration, beside those of its tables. Both tables must be in its
// account and Region.
type Client interface {
	client.Transactor
	client.TransactGetter
}

// Phase is the step that a Migration is in. The zero value is the first.
type Phase int

// The phases, in order. Put all programs into a phase before any goes on to the next one. A phase
// applies to the whole table: make its calls for every name that has items, since the next phase
// does not find a name's items without them. A Migration does not know the names; the caller lists
// them.
const (
	// WriteOld writes and reads the old items. Verify reports whether the new places are free; call it
	// for every name.
	WriteOld Phase = iota
	// WriteBoth writes both in one transaction, and reads the old. Once all programs are in it,
	// call Prune and then Copy for every name. Prune deletes new items whose old ones were deleted
	// by programs in the first phase. Copy makes the new items equal to the old ones.
	WriteBoth
	// ReadNew writes both and reads the new. It requires a Verify of every name without
	// differences. Programs may go back to WriteBoth.
	ReadNew
	// WriteNew writes and reads the new. Programs can't go back. Once all programs are in it,
	// call Drop for every name to delete the old items. Then use the new Table without a
	// Migration.
	WriteNew
)

// Migration moves the items of a table to another shard count, format or layout, while programs read
// and write. The steps are: write both, read the new, drop the old. Programs use it in place of the
// Table.
//
// A write to both costs four times the WCU of one. From and To may be the same table. To must look up
// items by their attributes (no RandomSuffix), so that an item that is copied and written at the same
// time is one item. A larger count of a random suffix needs no migration: first readers get the new
// count, then writers.
//
// The attributes that distinguish items with equal sort keys must not change. A write that would merge
// two items, or split one, returns ErrMisused.
//
// Within one table, no name may have old items under the keys of another name's new items. For
// example, "acme#2" must not be a name if "acme" goes from Unsharded to a CalculatedSuffix of ten. Give
// the new items another Format or table.
type Migration struct {
	Client   Client
	From, To *table.Table
	Phase    Phase
	// TTL is the table's TTL attribute, a number of Unix seconds; "" if TTL is disabled. Expired items
	// are not copied and are no differences, since TTL deletes the old and the new at different times.
	TTL string
}

// side is the old or the new table of a migration, in a call.
type side struct {
	*table.Table
	raw place.Table
}

// call is one call of a migration's method.
type call struct {
	*Migration
	from, to side
}

// begin checks the migration and returns a call at the time now.
func (m *Migration) begin(now time.Time) (*call, error) {
	if err := dynamo.CheckNow(now); err != nil {
		return nil, err
	}
	if m.Client == nil || m.From == nil || m.To == nil {
		return nil, fmt.Errorf("%w: a Migration needs a Client, From and To", shard.ErrMisused)
	}
	if m.Phase < WriteOld || m.Phase > WriteNew {
		return nil, fmt.Errorf("%w: a Migration has no phase %d", shard.ErrMisused, m.Phase)
	}
	for _, t := range []*table.Table{m.From, m.To} {
		if err := t.Check(); err != nil {
			return nil, err
		}
	}
	c := &call{m, side{m.From, place.Open(m.From, now)}, side{m.To, place.Open(m.To, now)}}
	switch {
	case m.From.PartitionKey != m.To.PartitionKey || m.From.SortKey != m.To.SortKey:
		return nil, fmt.Errorf("%w: a Migration from %s to %s: their keys have different names", shard.ErrMisused, m.From.Name, m.To.Name)
	case !c.to.raw.Finds():
		return nil, fmt.Errorf("%w: a Migration to %s: its layout can't look up an item; use a calculated suffix", shard.ErrMisused, m.To.Name)
	case !c.from.raw.Finds() && m.From.Name == m.To.Name && cmp.Or(m.From.Format, shard.Hash) == cmp.Or(m.To.Format, shard.Hash):
		return nil, fmt.Errorf("%w: a Migration within %s: the old write shards are random, so the new items need another Format", shard.ErrMisused, m.To.Name)
	}
	return c, nil
}

// beginIn begins a call of an operation that is allowed in some phases.
func (m *Migration) beginIn(operation string, now time.Time, phases ...Phase) (*call, error) {
	c, err := m.begin(now)
	if err == nil && !slices.Contains(phases, m.Phase) {
		err = fmt.Errorf("%w: %s is for other phases of a Migration than %d", shard.ErrMisused, operation, m.Phase)
	}
	return c, err
}

// describe adds the operation, the name and the table to an error.
func describe(t *table.Table, operation, name string, err error) error {
	return fmt.Errorf("%s %q of table %s: %w", operation, name, t.Name, err)
}

// writesBoth reports whether both the old and the new item are written.
func (p Phase) writesBoth() bool { return p == WriteBoth || p == ReadNew }

// truth returns the side that is read.
func (c *call) truth() side {
	if c.Phase >= ReadNew {
		return c.to
	}
	return c.from
}

// reads returns the table that is read. Within one table, it leaves out the other side's items.
func (c *call) reads() *table.Table {
	truth := c.truth()
	if c.From.Name == c.To.Name && truth.raw.Finds() {
		return truth.raw.Placed().(*table.Table)
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

// Page reads a page as [table.Table.Page] does. A page of one phase continues in the next if the old
// layout can look up items by their attributes.
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
