package ddb

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Progress is how far a Copy or a Drop has come.
type Progress struct {
	Seen    int    // items looked at
	Changed int    // items copied or deleted
	Kept    int    // old items that Drop left, for want of a new one
	After   string // Span.After to go on from here
}

// chunk is how many items a Copy, a Verify or a Drop has under way between two
// reports; up to maxParallel at a time.
const chunk = 100

// Copy makes the new items of a name equal to the old ones in a span, the zero value
// for all, while programs write both. It reports after each hundred items, and goes on
// from Progress.After of a copy that failed. Done again it changes nothing. It costs
// four read units and, for an item that is missing, four write units for each 4 and
// 1 KB. Phase WriteBoth only.
//
// Two old items with equal sort keys, which a RandomSuffix may have, can't both
// be copied: that is an error, before anything is deleted.
func (m *Migration) Copy(ctx context.Context, name string, s Span, report func(Progress)) (Progress, error) {
	if err := m.need("Copy", WriteBoth); err != nil {
		return Progress{}, err
	}
	var done Progress
	each := func(ctx context.Context, p pair, _ sighting) (bool, error) { return m.sync(ctx, p) }
	err := m.walk(ctx, name, s, &done, report, each)
	if err != nil {
		return done, m.From.describe("copying items of", name, err)
	}
	return done, nil
}

// onlyNew begins the After of a walk that has gone through the old items.
const onlyNew = "new:"

// walk calls each for all pairs, first those of the old items, then, if the old ones
// can be found singly, those of the new. It reads at one's ease: not in the truth's
// order of time, but each item that stays there is met.
func (m *Migration) walk(ctx context.Context, name string, s Span, done *Progress, report func(Progress),
	each func(context.Context, pair, sighting) (bool, error)) error {
	s.Consistent, s.Desc, s.Limit = true, false, 0
	after, second := strings.CutPrefix(s.After, onlyNew)
	s.After = after
	if !second {
		if err := m.half(ctx, m.From, "", name, s, done, report, each); err != nil {
			return err
		}
		s.After = ""
	}
	if !m.From.Layout.found() {
		return nil
	}
	return m.half(ctx, m.To, onlyNew, name, s, done, report, each)
}

// half walks through the items of one of the tables.
func (m *Migration) half(ctx context.Context, t *Table, mark, name string, s Span, done *Progress, report func(Progress),
	each func(context.Context, pair, sighting) (bool, error)) error {
	g, err := m.view(t).gather(name, s)
	if err != nil {
		return err
	}
	var part []sighting
	flush := func() error {
		changed, err := m.each(ctx, t, name, part, each)
		done.Seen, done.Changed = done.Seen+len(part), done.Changed+changed
		if err == nil && len(part) > 0 {
			done.After = mark + g.cursor(part[len(part)-1].at)
			report(*done)
		}
		part = part[:0]
		return err
	}
	var last sighting
	for found, err := range g.all(ctx) {
		if err != nil {
			return err
		}
		if !t.Layout.found() && last.item != nil && compareValues(last.at.sort, found.at.sort) == 0 {
			return fmt.Errorf("%q and %q both hold an item with one sort key: they would become one", last.pk, found.pk)
		}
		if part, last = append(part, found), found; len(part) == chunk {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// each calls a function for pairs in parallel, and counts those it changed.
func (m *Migration) each(ctx context.Context, t *Table, name string, part []sighting, call func(context.Context, pair, sighting) (bool, error)) (int, error) {
	var changed atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxParallel)
	for _, s := range part {
		group.Go(func() error {
			p, err := m.pairOf(ctx, t, name, s)
			if err != nil || p == nil {
				return err
			}
			did, err := call(ctx, *p, s)
			if did {
				changed.Add(1)
			}
			return err
		})
	}
	err := group.Wait()
	return int(changed.Load()), err
}

// pairOf returns the places of an item that was read from one of the tables, nil when
// it stays where it is.
func (m *Migration) pairOf(ctx context.Context, t *Table, name string, s sighting) (*pair, error) {
	read := place{s.pk, s.sort}
	other := m.To
	if t == m.To {
		other = m.From
	}
	list, err := other.Layout.places(ctx, other, name, s.item)
	if err != nil {
		return nil, err
	}
	from, to := read, list[0]
	if t == m.To {
		from, to = list[0], read
	}
	if m.same(from, to) {
		return nil, nil
	}
	p := m.pair(from, to)
	return &p, nil
}
