package migrate

import (
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

	done  Progress
	batch []visit // collected, to be handled by flush
	last  place.Position
	seen  map[string]table.Item // items with the last sort key, by what tells them apart

	extra atomic.Int64 // a number above 0 ends the walk after the chunk
	kept  atomic.Int64 // Progress.Kept
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
	stays    bool // its place is also that of the other table: nothing to do
	shared   bool // a look-up of the new item finds it, too
	stray    bool // its place is in no layout
}

func (c *call) walk(name string, s table.Span, report func(Progress), each func(context.Context, visit) (bool, error)) *walk {
	if report == nil {
		report = func(Progress) {}
	}
	return &walk{c: c, name: name, span: s, report: report, each: each}
}

// chunk is the number of items between two reports. dynamo.MaxParallel of them are handled at a
// time.
const chunk = 100

// run walks the items of one of the tables from Span.After on. It reads all items: among the
// new ones those of another table or layout in the partitions, and both copies of an old item
// whose writers disagreed on a shard count.
func (w *walk) run(ctx context.Context) error {
	t := w.c.from.raw
	if w.new {
		t = w.c.to.raw
	}
	w.batch, w.last, w.seen = nil, place.Position{}, nil
	for found, err := range t.ScanAll(ctx, w.name, w.span.Low, w.span.High, w.span.After) {
		if err != nil {
			return err
		}
		if err := w.collect(ctx, found); err != nil {
			return err
		}
		if len(w.batch) < chunk {
			continue
		}
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	return w.flush(ctx)
}

// sharesPartitions reports whether old and new items may be in one partition.
func (c *call) sharesPartitions() bool { return c.From.Name == c.To.Name && c.from.raw.Finds() }

func (w *walk) collect(ctx context.Context, s place.Stored) error {
	from, err := w.c.from.raw.Places(ctx, w.name, s.Item)
	if err != nil {
		return err
	}
	to, err := w.c.to.raw.Places(ctx, w.name, s.Item)
	if err != nil {
		return err
	}
	read := place.Place{PK: s.PK, Sort: s.Sort}
	found := visit{c: w.c, item: s.Item, from: from[0], to: to[0], olds: from, news: w.c.newOnly(from, to), id: w.c.identity(s.Item), at: s.At}
	if w.new {
		found.to, found.stray = read, !slices.ContainsFunc(to, read.Equal)
		found.stays = w.c.sharesPartitions() && slices.ContainsFunc(from, read.Equal)
		w.batch = append(w.batch, found)
		return nil
	}
	found.from, found.stays = read, w.c.same(read, to[0])
	found.shared = w.c.sharesPartitions() && slices.ContainsFunc(to, read.Equal)
	if current, err := w.isCurrent(ctx, found); err != nil || !current {
		return err
	}
	w.batch = append(w.batch, found)
	if w.drops {
		return nil
	}
	return w.checkDistinct(found)
}

// isCurrent reports whether an item that was read is the old one that a look-up finds. A
// look-up finds the first of its places that has it. An item at none of its places, and not
// new, is an error, since it would be lost.
func (w *walk) isCurrent(ctx context.Context, f visit) (bool, error) {
	c, known := w.c, slices.ContainsFunc(f.olds, f.from.Equal)
	switch {
	case !c.from.raw.Finds(), f.from.Equal(f.olds[0]), w.drops && (known || !c.sharesPartitions()):
		return true, nil
	case !known && f.shared:
		return false, nil
	}
	at, it, err := c.from.raw.Locate(ctx, f.olds, f.id)
	if err == nil && it == nil && !known {
		err = fmt.Errorf("%w: %q holds an item that the old layout would look for under %q: it would be lost", shard.ErrMisused, f.from.PK, f.olds[0].PK)
	}
	return it != nil && f.from.Equal(at), err
}

// checkDistinct rejects two old items that would be one in the new table, unless they are
// equal. A RandomSuffix has an item twice that was put twice.
func (w *walk) checkDistinct(f visit) error {
	if w.last.Sort == nil || dynamo.CompareValues(w.last.Sort, f.at.Sort) != 0 {
		w.seen = map[string]table.Item{}
	}
	by := dynamo.Apart(f.item, w.c.to.raw.TellsBy())
	if other := w.seen[by]; other != nil && !equal(w.c.from, other, f.item) {
		return fmt.Errorf("%w: %q holds an item that would become one with another of the same sort key %q: delete both with From.Delete, and put the right one again",
			shard.ErrMisused, f.from.PK, place.Spelled(f.at.Sort))
	}
	w.last, w.seen[by] = f.at, f.item
	return nil
}

// onlyNew begins the After of a walk over new items.
const onlyNew = "new:"

// flush handles the collected items and reports. A resumed walk begins with the last sort key,
// so that items with equal ones are read together.
func (w *walk) flush(ctx context.Context) error {
	if len(w.batch) == 0 {
		return nil
	}
	changed, err := w.handle(ctx)
	w.done.Seen += len(w.batch)
	w.done.Changed += changed
	w.done.Kept = int(w.kept.Load())
	if err != nil {
		return err
	}
	if n := w.extra.Load(); n > 0 {
		return fmt.Errorf("%w: %d of the first %d: check them with Verify, then delete them with Prune", ErrExtra, n, w.done.Seen)
	}
	w.done.After = place.Position{Sort: w.batch[len(w.batch)-1].at.Sort, Shard: -1}.String()
	if w.new {
		w.done.After = onlyNew + w.done.After
	}
	w.batch = nil
	w.report(w.done)
	return nil
}

func (w *walk) handle(ctx context.Context) (int, error) {
	var changed atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(dynamo.MaxParallel)
	for _, f := range w.batch {
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
