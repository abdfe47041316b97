package ddb

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"
)

// Progress is how far a Copy or a Drop has come.
type Progress struct {
	Seen    int    // items looked at
	Changed int    // items copied or deleted
	Kept    int    // old items that Drop left, for want of a new one
	After   string // Span.After to go on from here
}

// Copy makes the new items of a name equal to the old ones in a span, the zero value
// for all, while programs write both. It reports, unless report is nil, after each
// hundred items, and goes on from Progress.After of a copy that failed. Done again it
// changes nothing. It costs four read units and, for an item that is missing, four
// write units for each 4 and 1 KB. Phase WriteBoth only.
//
// Two old items with equal sort keys, which a RandomSuffix may have, can't both
// be copied: that is an error, before anything is deleted.
func (m *Migration) Copy(ctx context.Context, name string, s Span, report func(Progress)) (Progress, error) {
	if err := m.need("Copy", WriteBoth); err != nil {
		return Progress{}, err
	}
	w := m.walk(name, s, report, m.sync)
	if err := w.both(ctx); err != nil {
		return w.done, m.From.describe("copying items of", name, err)
	}
	return w.done, nil
}

// walk goes through the items of a name, each with its place in the other table.
type walk struct {
	m      *Migration
	name   string
	span   Span
	report func(Progress)
	each   func(context.Context, pair) (changed bool, err error) // called in parallel

	done Progress
	part []sighting           // collected, and not handled yet
	last types.AttributeValue // sort key
}

func (m *Migration) walk(name string, s Span, report func(Progress), each func(context.Context, pair) (bool, error)) *walk {
	s.Consistent, s.Desc, s.Limit = true, false, 0
	if report == nil {
		report = func(Progress) {}
	}
	return &walk{m: m, name: name, span: s, report: report, each: each}
}

// onlyNew begins the After of a walk that has gone through the old items.
const onlyNew = "new:"

// both walks through the old items and then, if the old ones can be found singly,
// through the new. It meets every item that stays where it is.
func (w *walk) both(ctx context.Context) error {
	after, second := strings.CutPrefix(w.span.After, onlyNew)
	if w.span.After = after; !second {
		if err := w.through(ctx, w.m.From, ""); err != nil {
			return err
		}
		w.span.After = ""
	}
	if !w.m.From.Layout.found() {
		return nil
	}
	return w.through(ctx, w.m.To, onlyNew)
}

// chunk is how many items a walk handles between two reports, maxParallel at a time.
const chunk = 100

// through walks through the items of one of the tables.
func (w *walk) through(ctx context.Context, t *Table, mark string) error {
	g, err := w.m.view(t).gather(w.name, w.span)
	if err != nil {
		return err
	}
	w.part, w.last = nil, nil
	for found, err := range g.all(ctx) {
		if err != nil {
			return err
		}
		if !t.Layout.found() && w.last != nil && compareValues(w.last, found.at.sort) == 0 {
			return fmt.Errorf("%q holds an item with the sort key of one before: they would become one", found.pk)
		}
		if w.part, w.last = append(w.part, found), found.at.sort; len(w.part) < chunk {
			continue
		}
		if err := w.flush(ctx, g, mark); err != nil {
			return err
		}
	}
	return w.flush(ctx, g, mark)
}

// flush handles what was collected, and reports.
func (w *walk) flush(ctx context.Context, g *gather, mark string) error {
	if len(w.part) == 0 {
		return nil
	}
	changed, err := w.handle(ctx, mark == "")
	w.done.Seen += len(w.part)
	w.done.Changed += changed
	if err != nil {
		return err
	}
	w.done.After = mark + g.cursor(w.part[len(w.part)-1].at)
	w.part = nil
	w.report(w.done)
	return nil
}

func (w *walk) handle(ctx context.Context, old bool) (int, error) {
	var changed atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxParallel)
	for _, s := range w.part {
		group.Go(func() error {
			p, moves, err := w.m.pairOf(ctx, old, w.name, s)
			if err != nil || !moves {
				return err
			}
			did, err := w.each(ctx, p)
			if did {
				changed.Add(1)
			}
			return err
		})
	}
	err := group.Wait()
	return int(changed.Load()), err
}

// pairOf returns the places of an item that was read, old or new, and whether it
// moves at all.
func (m *Migration) pairOf(ctx context.Context, old bool, name string, s sighting) (p pair, moves bool, err error) {
	read, other := place{s.pk, s.sort}, m.From
	if old {
		other = m.To
	}
	list, err := other.Layout.places(ctx, other, name, s.item)
	if err != nil {
		return pair{}, false, err
	}
	from, to := list[0], read
	if old {
		from, to = read, list[0]
	}
	return m.pair(from, to), !m.same(from, to), nil
}
