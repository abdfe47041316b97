package migrate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/place"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// walk iterates over a name's items, the old or the new, with their places.
type walk struct {
	c      *call
	name   string
	span   table.Span
	new    bool // walk the new items
	drops  bool // walk all old items to delete them
	report func(Progress)
	each   func(context.Context, visit) (changed bool, err error) // called in parallel

	last place.Position
	seen map[string]table.Item // items with the last sort key, by what tells them apart

	read          int
	changed, kept atomic.Int64
}

// visit is an item that a walk has read.
type visit struct {
	c        *call
	item     table.Item // as read, with the callers' keys
	from, to place.Place
	olds     []place.Place // where the old item may be; it belongs to the first
	news     []place.Place // the same of the new item
	id       place.Identity
	at       place.Position
	stray    bool // its place is in no layout
}

func (c *call) walkOld(name string, s table.Span, report func(Progress), each func(context.Context, visit) (bool, error)) *walk {
	return &walk{c: c, name: name, span: s, report: report, each: each}
}

func (c *call) walkNew(name string, s table.Span, report func(Progress), each func(context.Context, visit) (bool, error)) *walk {
	return &walk{c: c, name: name, span: s, report: report, each: each, new: true}
}

// reportEvery is the number of items between two reports.
const reportEvery = 100

// run walks the items of one of the tables, dynamo.MaxParallel at a time. It reads all items: among the
// new ones those at places of no layout, and both copies of an old item whose writers disagreed on a
// shard count.
func (w *walk) run(ctx context.Context) (Progress, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(dynamo.MaxParallel)
	err := w.readAll(ctx, group)
	err = cmp.Or(group.Wait(), err) // the first error ends the reads
	if err == nil {
		w.reportNow()
	}
	return w.progress(), err
}

func (w *walk) readAll(ctx context.Context, group *errgroup.Group) error {
	t := w.c.from.raw
	if w.new {
		t = w.c.to.raw
	}
	items, _ := t.Range(ctx, w.name, place.Range{Low: w.span.Low, High: w.span.High, Consistent: true, Twice: true})
	for s, err := range items {
		if err != nil {
			return err
		}
		f, err := w.placesOf(ctx, s)
		if err != nil {
			return err
		}
		if f == nil {
			continue
		}
		group.Go(func() error {
			did, err := w.each(ctx, *f)
			if did {
				w.changed.Add(1)
			}
			return err
		})
		if w.read++; w.read%reportEvery == 0 {
			w.reportNow()
		}
	}
	return nil
}

func (w *walk) progress() Progress {
	return Progress{Seen: w.read, Changed: int(w.changed.Load()), Kept: int(w.kept.Load())}
}

func (w *walk) reportNow() {
	if w.report != nil {
		w.report(w.progress())
	}
}

// placesOf returns an item with its places, or nil if the walk does not handle it.
func (w *walk) placesOf(ctx context.Context, s place.Stored) (*visit, error) {
	from, err := w.c.from.raw.Places(ctx, w.name, s.Item)
	if err != nil {
		return nil, err
	}
	to, err := w.c.to.raw.Places(ctx, w.name, s.Item)
	if err != nil {
		return nil, err
	}
	read := place.Place{PK: s.PK, Sort: s.Sort}
	found := &visit{c: w.c, item: s.Item, from: from[0], to: to[0], olds: from, news: to, id: w.c.identity(s.Item), at: s.At}
	if w.new {
		found.to, found.stray = read, !slices.ContainsFunc(to, read.Equal)
		return found, nil
	}
	found.from = read
	if current, err := w.isCurrent(ctx, found); err != nil || !current {
		return nil, err
	}
	return found, w.checkDistinct(found)
}

// isCurrent reports whether an item that was read is the old one that a look-up finds. A
// look-up finds the first of its places that has it. An item at none of its places is an error, since
// it would be lost.
func (w *walk) isCurrent(ctx context.Context, f *visit) (bool, error) {
	if w.drops || !w.c.from.raw.Findable() || f.from.Equal(f.olds[0]) {
		return true, nil
	}
	at, it, err := w.c.from.raw.Locate(ctx, f.olds, f.id)
	if err == nil && it == nil && !slices.ContainsFunc(f.olds, f.from.Equal) {
		err = fmt.Errorf("%w: %q holds an item that the old layout would look for under %q: it would be lost", shard.ErrMisused, f.from.PK, f.olds[0].PK)
	}
	return it != nil && f.from.Equal(at), err
}

// checkDistinct rejects two old items that would be one in the new table, unless they are
// equal or deleted. A RandomSuffix has an item twice that was put twice.
func (w *walk) checkDistinct(f *visit) error {
	if w.last.Sort == nil || dynamo.CompareValues(w.last.Sort, f.at.Sort) != 0 {
		w.seen = map[string]table.Item{}
	}
	by := dynamo.TieValue(f.item, w.c.to.raw.TieBreaker())
	if other := w.seen[by]; other != nil && !w.drops && !equal(w.c.from, other, f.item) {
		return fmt.Errorf("%w: %q holds an item that would become one with another of the same sort key %q: delete both with From.Delete, and put the right one again",
			shard.ErrMisused, f.from.PK, place.SortText(f.at.Sort))
	}
	w.last, w.seen[by] = f.at, f.item
	return nil
}
