package migrate

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
	"github.com/hotshard/hotshard/pkg/shard/internal/place"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// Client is the part of DynamoDB's client that a Migration calls, beside those of its tables.
// Both tables are in its account and Region.
type Client interface {
	client.Transactor
	client.TransactGetter
}

// Phase is the step that a Migration is in. The zero value changes nothing.
type Phase int

// The phases, in order. All programs must be in a phase before any goes on to the next one, so
// that programs are in two adjacent phases at most. A phase applies to the whole table. Call
// Verify, Prune, Copy and Drop for every name with items before any program goes on; otherwise
// the next phase does not find the name's items. The caller lists the names; a Migration does
// not know them.
const (
	// WriteOld writes and reads the old write shards. Verify reports whether the new places are
	// free; call it for every name.
	WriteOld Phase = iota
	// WriteBoth writes both in one transaction, and reads the old. Once all programs are in it,
	// call Prune and Copy for every name. Prune deletes the new items whose old ones were
	// deleted in the phase before; Copy makes the new items equal to the old ones.
	WriteBoth
	// ReadNew writes both and reads the new. It requires a Verify of every name without
	// differences. Programs may go back to WriteBoth.
	ReadNew
	// WriteNew writes and reads the new. Programs can't go back. Once all programs are in it,
	// call Drop for every name to delete the old items. Then use the new Table without a
	// Migration.
	WriteNew
)

// Migration moves the items of a table to new write shards, while programs read and write. The
// table has a fixed count, or another format or layout. The steps are: write both, read the
// new, drop the old. In a program it replaces the Table.
//
// A write to both costs four times the write units of one. From and To may be the same table.
// To must look up items by their attributes (no RandomSuffix), so that an item that is copied
// and written at once is one item. A change of only a random suffix's count needs no migration:
// first readers get the larger count, then writers.
//
// The attributes that tell apart items with equal sort keys must not change. A write that would
// merge two items, or split one, is an ErrMisused.
//
// Within one table, no partition key may have old and new items. So another count, or another
// bucket, needs another Format. Nor may a name have old items where another has new ones. An example
// is the name "acme#2", if "acme" goes from Unsharded to a CalculatedSuffix of ten.
type Migration struct {
	Client   Client
	From, To *table.Table
	Phase    Phase
	// TTL is the attribute by which DynamoDB's TTL deletes items, a number of Unix seconds; ""
	// if TTL is disabled. Expired items are not copied and are no differences: TTL deletes the
	// old and the new at different times.
	TTL string
}

// side is one of a migration's tables in a call.
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
	c := &call{m, side{m.From, place.OpenTable(m.From, now)}, side{m.To, place.OpenTable(m.To, now)}}
	switch {
	case m.From.PartitionKey != m.To.PartitionKey || m.From.SortKey != m.To.SortKey:
		return nil, fmt.Errorf("%w: a Migration from %s to %s: their keys have different names", shard.ErrMisused, m.From.Name, m.To.Name)
	case !c.to.raw.Findable():
		return nil, fmt.Errorf("%w: a Migration to %s: its layout can't look up an item", shard.ErrMisused, m.To.Name)
	case c.sharesPartitions():
		return nil, fmt.Errorf("%w: a Migration within %s: its old and new items may have the same partition keys: give To another Format", shard.ErrMisused, m.To.Name)
	}
	return c, nil
}

// sharesPartitions reports whether old and new items of a name may have the same partition key.
func (c *call) sharesPartitions() bool {
	plain := func(t *table.Table) bool { return t.PlainFirst || t.Layout == table.Unsharded{} }
	text := func(t *table.Table) string {
		return strings.TrimRight(string(cmp.Or(t.Format, shard.Hash)), "0123456789") // # and #1 share #12
	}
	sameLayout := !c.from.raw.Findable() || reflect.TypeOf(c.From.Layout) == reflect.TypeOf(c.To.Layout)
	return c.From.Name == c.To.Name && (plain(c.From) && plain(c.To) || sameLayout && text(c.From) == text(c.To))
}

// beginIn begins a call of an operation that is allowed in some phases.
func (m *Migration) beginIn(operation string, now time.Time, phases ...Phase) (*call, error) {
	c, err := m.begin(now)
	if err == nil && !slices.Contains(phases, m.Phase) {
		err = fmt.Errorf("%w: %s is not for phase %d of a Migration", shard.ErrMisused, operation, m.Phase)
	}
	return c, err
}

// describe adds the operation, the name and the table to an error.
func describe(t *table.Table, operation, name string, err error) error {
	return fmt.Errorf("%s %q of table %s: %w", operation, name, t.Name, err)
}

// dual reports whether both tables are written.
func (p Phase) dual() bool { return p == WriteBoth || p == ReadNew }

// truth returns the table that is read.
func (c *call) truth() side {
	if c.Phase >= ReadNew {
		return c.to
	}
	return c.from
}

// Query streams a range as [table.Table.Query] does.
func (m *Migration) Query(ctx context.Context, name string, s table.Span, now time.Time) iter.Seq2[table.Item, error] {
	c, err := m.begin(now)
	if err != nil {
		return func(yield func(table.Item, error) bool) { yield(nil, err) }
	}
	return c.truth().Query(ctx, name, s, now)
}

// Page reads a page as [table.Table.Page] does. Pages continue over a change of phase if old
// items can be looked up by their attributes.
func (m *Migration) Page(ctx context.Context, name string, s table.Span, now time.Time) (table.Page, error) {
	c, err := m.begin(now)
	if err != nil {
		return table.Page{}, err
	}
	return c.truth().Page(ctx, name, s, now)
}

// Count counts a range as [table.Table.Count] does.
func (m *Migration) Count(ctx context.Context, name string, s table.Span, now time.Time) (int, error) {
	c, err := m.begin(now)
	if err != nil {
		return 0, err
	}
	return c.truth().Count(ctx, name, s, now)
}

// Get reads one item as [table.Table.Get] does.
func (m *Migration) Get(ctx context.Context, key table.Item, now time.Time) (table.Item, error) {
	c, err := m.begin(now)
	if err != nil {
		return nil, err
	}
	return c.truth().Get(ctx, key, now)
}
