package table

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/hotshard/hotshard/internal/place"
	"github.com/hotshard/hotshard/pkg/shard"
)

// MaxQueries bounds the partitions read for a page, but for a first bucket that has more
// by itself.
const MaxQueries = 1000

// Query streams the items of a name in the order of their sort keys, read from all
// its write shards in parallel; items with equal sort keys come in the order of what
// their write shards are calculated from, or else of the write shards. Memory holds about a page (1 MB) of each write shard. The stream
// ends with the first error, whose item is nil. The clock goes on from now since
// Query was called, also when the loop starts later.
func (t *Table) Query(ctx context.Context, name string, s Span, now time.Time) iter.Seq2[Item, error] {
	r := t.Raw(now)
	return func(yield func(Item, error) bool) {
		g, err := r.gather(name, s)
		if err != nil {
			yield(nil, t.describe("reading a range of", name, err))
			return
		}
		given := 0
		for found, err := range g.all(ctx) {
			if err != nil {
				yield(nil, t.describe("reading a range of", name, err))
				return
			}
			if !yield(found.Item, nil) {
				return
			}
			if given++; given == s.Limit {
				return
			}
		}
	}
}

// Page is a part of a range. Next is "" at the range's end; otherwise it is the
// next page's Span.After, and the page may hold fewer items than the limit, or none:
// a page reads at most MaxQueries partitions, but for a first bucket that has more.
type Page struct {
	Items []Item
	Next  string
}

// Page reads a part of a range, Span.Limit items or 100. Pages neither miss nor
// repeat an item, also when the shard count changes between them.
func (t *Table) Page(ctx context.Context, name string, s Span, now time.Time) (Page, error) {
	if s.Limit <= 0 {
		s.Limit = 100
	}
	g, err := t.Raw(now).gather(name, s)
	if err != nil {
		return Page{}, t.describe("reading a page of", name, err)
	}
	g.most = MaxQueries
	var page Page
	var last place.Position
	for found, err := range g.all(ctx) {
		if err != nil {
			return Page{}, t.describe("reading a page of", name, err)
		}
		if len(page.Items) == s.Limit {
			page.Next = g.cursor(last)
			return page, nil
		}
		page.Items, last = append(page.Items, found.Item), found.At
	}
	if g.rest != nil {
		page.Next = g.rest.String()
	}
	return page, nil
}

// Count counts a range by one COUNT query for each partition; it costs the read
// units of reading it. The span must have no Limit and no After.
func (t *Table) Count(ctx context.Context, name string, s Span, now time.Time) (n int, err error) {
	if s.Limit != 0 || s.After != "" {
		return 0, t.describe("counting", name, fmt.Errorf("%w: a count has no Limit and no After", shard.ErrMisused))
	}
	g, err := t.Raw(now).gather(name, s)
	if err == nil {
		n, err = g.count(ctx)
	}
	if err != nil {
		return 0, t.describe("counting", name, err)
	}
	return n, nil
}

// Get reads one item, consistently, or returns an error of kind ErrNotFound. The key
// is an item with the name, the sort key and what the layout calculates the write
// shard from. That is one GetItem, and more only near a change of the shard count.
func (t *Table) Get(ctx context.Context, key Item, now time.Time) (Item, error) {
	const operation = "reading an item of"
	r := t.Raw(now)
	name, places, err := r.Find(ctx, operation, key)
	if err != nil {
		return nil, err
	}
	_, it, err := r.Look(ctx, places, r.Identity(key))
	if err == nil && it == nil {
		err = shard.ErrNotFound
	}
	if err != nil {
		return nil, t.describe(operation, name, err)
	}
	return t.seen(it, name, key), nil
}
