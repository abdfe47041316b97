package ddb

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// walk goes through a name's items, the old or the new, each with its places.
type walk struct {
	m      *Migration
	name   string
	span   Span
	new    bool // through the new ones
	drops  bool // of the old ones, all that are there are to be deleted
	report func(Progress)
	each   func(context.Context, met) (changed bool, err error) // called in parallel

	done Progress
	part []met // collected, and not handled yet
	last position
	seen map[string]Item // the items with the last sort key, by what tells them apart

	extra atomic.Int64 // what ends the walk with its chunk
	kept  atomic.Int64 // Progress.Kept
}

// met is an item that a walk has come by.
type met struct {
	item     Item // as it was read, with the keys that callers know
	from, to place
	olds     []place // where the old one may be, and the new one: first where it belongs
	news     []place
	id       identity
	at       position
	stays    bool // it is where the other table has it: there is nothing to do
	shared   bool // it is where a look-up of a new one would come, too
	stray    bool // no layout puts it where it is
}

func (m *Migration) walk(name string, s Span, report func(Progress), each func(context.Context, met) (bool, error)) *walk {
	s.Consistent, s.Desc, s.Limit = true, false, 0
	if report == nil {
		report = func(Progress) {}
	}
	return &walk{m: m, name: name, span: s, report: report, each: each}
}

// chunk is how many items a walk handles between two reports, maxParallel at a time.
const chunk = 100

// run walks through the items of one of the tables, from Span.After on. It looks at all
// that are there: of the new ones, of those of another table or layout in the partitions,
// and of the two that an old item may be when writers did not agree on a shard count.
func (w *walk) run(ctx context.Context) error {
	t := w.m.From
	if w.new {
		t = w.m.To
	}
	if w.new || w.m.From.Layout.found() {
		t = t.reading(allThere)
	}
	g, err := t.gather(w.name, w.span)
	if err != nil {
		return err
	}
	w.part, w.last, w.seen = nil, position{}, nil
	for found, err := range g.all(ctx) {
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
func (m *Migration) beside() bool { return m.From.Name == m.To.Name && m.From.Layout.found() }

func (w *walk) take(ctx context.Context, s sighting) error {
	from, err := w.m.From.Layout.places(ctx, w.m.From, w.name, s.item)
	if err != nil {
		return err
	}
	to, err := w.m.To.Layout.places(ctx, w.m.To, w.name, s.item)
	if err != nil {
		return err
	}
	read := place{s.pk, s.sort}
	found := met{item: s.item, from: from[0], to: to[0], olds: from, news: w.m.newOnly(from, to), id: w.m.identity(s.item), at: s.at}
	if w.new {
		found.to, found.stray = read, !slices.ContainsFunc(to, read.equal)
		found.stays = w.m.beside() && slices.ContainsFunc(from, read.equal)
		w.part = append(w.part, found)
		return nil
	}
	found.from, found.stays = read, w.m.same(read, to[0])
	found.shared = w.m.beside() && slices.ContainsFunc(to, read.equal)
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
	m, known := w.m, slices.ContainsFunc(f.olds, f.from.equal)
	switch {
	case !m.From.Layout.found(), f.from.equal(f.olds[0]), w.drops && (known || !m.beside()):
		return true, nil
	case !known && f.shared:
		return false, nil
	}
	at, it, err := m.From.look(ctx, f.olds, f.id)
	if err == nil && it == nil && !known {
		err = fmt.Errorf("%w: %q holds an item that the old layout would look for under %q: it would be lost", ErrMisused, f.from.pk, f.olds[0].pk)
	}
	return it != nil && f.from.equal(at), err
}

// distinct refuses two old items that the new table would have as one, unless they are
// equal: a random suffix has an item twice that was put twice.
func (w *walk) distinct(f met) error {
	if w.last.sort == nil || compareValues(w.last.sort, f.at.sort) != 0 {
		w.seen = map[string]Item{}
	}
	by := apart(f.item, w.m.To.Layout.tells(w.m.To))
	if other := w.seen[by]; other != nil && !w.m.From.equal(other, f.item) {
		return fmt.Errorf("%w: %q holds an item that would become one with another that has its sort key %q: take them away with From.Delete, and put the right one again",
			ErrMisused, f.from.pk, spelled(f.at.sort))
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
	w.done.After = position{sort: w.part[len(w.part)-1].at.sort, shard: -1}.String()
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
	group.SetLimit(maxParallel)
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
