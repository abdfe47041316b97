package migrate

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/place"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// walk goes through a name's items, the old or the new, each with its places.
type walk struct {
	c      *call
	name   string
	span   table.Span
	new    bool // through the new ones
	drops  bool // of the old ones, all that are there are to be deleted
	report func(Progress)
	each   func(context.Context, met) (changed bool, err error) // called in parallel

	done Progress
	part []met // collected, and not handled yet
	last place.Position
	seen map[string]table.Item // the items with the last sort key, by what tells them apart

	extra atomic.Int64 // what ends the walk with its chunk
	kept  atomic.Int64 // Progress.Kept
}

// met is an item that a walk has come by.
type met struct {
	c        *call
	item     table.Item // as it was read, with the keys that callers know
	from, to place.Place
	olds     []place.Place // where the old one may be, and the new one: first where it belongs
	news     []place.Place
	id       place.Identity
	at       place.Position
	stays    bool // it is where the other table has it: there is nothing to do
	shared   bool // it is where a look-up of a new one would come, too
	stray    bool // no layout puts it where it is
}

func (c *call) walk(name string, s table.Span, report func(Progress), each func(context.Context, met) (bool, error)) *walk {
	s.Consistent, s.Desc, s.Limit = true, false, 0
	if report == nil {
		report = func(Progress) {}
	}
	return &walk{c: c, name: name, span: s, report: report, each: each}
}

// chunk is how many items a walk handles between two reports, dynamo.MaxParallel at a time.
const chunk = 100

// run walks through the items of one of the tables, from Span.After on. It looks at all
// that are there: of the new ones, of those of another table or layout in the partitions,
// and of the two that an old item may be when writers did not agree on a shard count.
func (w *walk) run(ctx context.Context) error {
	t := w.c.from.raw
	if t.Finds() {
		t = t.Everything()
	}
	if w.new {
		t = w.c.to.raw.Everything()
	}
	w.part, w.last, w.seen = nil, place.Position{}, nil
	for found, err := range t.Scan(ctx, w.name, w.span) {
		if err != nil {
			return err
		}
		if err := w.take(ctx, found); err != nil {
			return err
		}
		if len(w.part) < chunk {
			continue
		}
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	return w.flush(ctx)
}

// beside tells whether old and new items may be in one partition.
func (c *call) beside() bool { return c.From.Name == c.To.Name && c.from.raw.Finds() }

func (w *walk) take(ctx context.Context, s table.Stored) error {
	from, err := w.c.from.raw.Places(ctx, w.name, s.Item)
	if err != nil {
		return err
	}
	to, err := w.c.to.raw.Places(ctx, w.name, s.Item)
	if err != nil {
		return err
	}
	read := place.Place{PK: s.PK, Sort: s.Sort}
	found := met{c: w.c, item: s.Item, from: from[0], to: to[0], olds: from, news: w.c.newOnly(from, to), id: w.c.identity(s.Item), at: s.At}
	if w.new {
		found.to, found.stray = read, !slices.ContainsFunc(to, read.Equal)
		found.stays = w.c.beside() && slices.ContainsFunc(from, read.Equal)
		w.part = append(w.part, found)
		return nil
	}
	found.from, found.stays = read, w.c.same(read, to[0])
	found.shared = w.c.beside() && slices.ContainsFunc(to, read.Equal)
	if counts, err := w.counts(ctx, found); err != nil || !counts {
		return err
	}
	w.part = append(w.part, found)
	if w.drops {
		return nil
	}
	return w.distinct(found)
}

// counts tells whether an item that was read among the old ones is one, and the one that
// a look-up finds, on the first of its places that has it. One that is on none of them,
// and no new one, is an error: to leave it out would hide it for good.
func (w *walk) counts(ctx context.Context, f met) (bool, error) {
	c, known := w.c, slices.ContainsFunc(f.olds, f.from.Equal)
	switch {
	case !c.from.raw.Finds(), f.from.Equal(f.olds[0]), w.drops && (known || !c.beside()):
		return true, nil
	case !known && f.shared:
		return false, nil
	}
	at, it, err := c.from.raw.Look(ctx, f.olds, f.id)
	if err == nil && it == nil && !known {
		err = fmt.Errorf("%w: %q holds an item that the old layout would look for under %q: it would be lost", shard.ErrMisused, f.from.PK, f.olds[0].PK)
	}
	return it != nil && f.from.Equal(at), err
}

// distinct refuses two old items that the new table would have as one, unless they are
// equal: a random suffix has an item twice that was put twice.
func (w *walk) distinct(f met) error {
	if w.last.Sort == nil || dynamo.CompareValues(w.last.Sort, f.at.Sort) != 0 {
		w.seen = map[string]table.Item{}
	}
	by := dynamo.Apart(f.item, w.c.to.raw.TellsBy())
	if other := w.seen[by]; other != nil && !equal(w.c.from, other, f.item) {
		return fmt.Errorf("%w: %q holds an item that would become one with another that has its sort key %q: take them away with From.Delete, and put the right one again",
			shard.ErrMisused, f.from.PK, place.Spelled(f.at.Sort))
	}
	w.last, w.seen[by] = f.at, f.item
	return nil
}

// onlyNew begins the After of a walk through the new items.
const onlyNew = "new:"

// flush handles what was collected, and reports. Who goes on from there begins with the
// last sort key, so that items with equal ones are seen together.
func (w *walk) flush(ctx context.Context) error {
	if len(w.part) == 0 {
		return nil
	}
	changed, err := w.handle(ctx)
	w.done.Seen += len(w.part)
	w.done.Changed += changed
	w.done.Kept = int(w.kept.Load())
	if err != nil {
		return err
	}
	if n := w.extra.Load(); n > 0 {
		return fmt.Errorf("%w: %d of the first %d", ErrExtra, n, w.done.Seen)
	}
	w.done.After = place.Position{Sort: w.part[len(w.part)-1].at.Sort, Shard: -1}.String()
	if w.new {
		w.done.After = onlyNew + w.done.After
	}
	w.part = nil
	w.report(w.done)
	return nil
}

func (w *walk) handle(ctx context.Context) (int, error) {
	var changed atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(dynamo.MaxParallel)
	for _, f := range w.part {
		if f.stays {
			continue
		}
		group.Go(func() error {
			did, err := w.each(ctx, f)
			if did {
				changed.Add(1)
			}
			return err
		})
	}
	err := group.Wait()
	return int(changed.Load()), err
}
