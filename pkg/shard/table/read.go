package table

import (
	"context"
	"iter"
	"time"

	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/place"
)

// MaxQueries is the maximum of partitions read for a page. A first bucket with more is read
// whole.
const MaxQueries = 1000

// Query streams the items of a name in the order of their sort keys, read from all its write
// shards in parallel. Items with equal sort keys are in the order of the attribute from which
// their write shards are calculated, or else of the write shards. Query reads ahead about a page
// (1 MB) per write shard and keeps it in memory. A loop that stops early pays for that: 20 items of
// 64 write shards cost 407 read units, or 32 with a Span.Limit of 20. The stream ends with the first
// error, whose item is nil. The call's clock starts with Query, even if the loop starts later.
func (t *Table) Query(ctx context.Context, name string, s Span, now time.Time) iter.Seq2[Item, error] {
	r := t.raw(now)
	return func(yield func(Item, error) bool) {
		g, err := r.gather(name, s)
		if err != nil {
			yield(nil, t.describe("reading a range of", name, err))
			return
		}
		yielded := 0
		for found, err := range g.all(ctx) {
			if err != nil {
				yield(nil, t.describe("reading a range of", name, err))
				return
			}
			if !yield(found.Item, nil) {
				return
			}
			if yielded++; yielded == s.Limit {
				return
			}
		}
	}
}

// Page is a page of a range. Next is "" at the range's end; otherwise it is the next page's
// Span.After. A page may hold fewer items than the limit, or none: it reads at most
// MaxQueries partitions, or all of a first bucket that has more.
type Page struct {
	Items []Item
	Next  string
}

// Page returns a page of a range: Span.Limit items, or 100. With a layout of random write shards and a shard map, Page reads
// the name's entry first, but not for time buckets that ended over 30 s ago. It queries each write shard and reads more than
// Limit items in all: docs/patterns.md has figures. Successive pages neither miss nor
// repeat an item, even if the shard count changes between them. Page returns ErrMisused if Span.After
// belongs to another name or direction.
func (t *Table) Page(ctx context.Context, name string, s Span, now time.Time) (Page, error) {
	if s.Limit <= 0 {
		s.Limit = 100
	}
	g, err := t.raw(now).gather(name, s)
	var page Page
	if err == nil {
		g.readCurrent()
		page, err = g.page(ctx)
	}
	if err != nil {
		return Page{}, t.describe("reading a page of", name, err)
	}
	return page, nil
}

// page reads Span.Limit items, and one more if a page follows.
func (g *gather) page(ctx context.Context) (page Page, err error) {
	g.most, g.rest = MaxQueries, nil
	name, s := g.name, g.span
	var last place.Position
	for found, err := range g.all(ctx) {
		if err != nil {
			return Page{}, err
		}
		if len(page.Items) == s.Limit {
			page.Next = cursorOf(name, s.Desc) + g.cursor(last).String()
			return page, nil
		}
		page.Items, last = append(page.Items, found.Item), found.At
	}
	if g.rest != nil {
		page.Next = cursorOf(name, s.Desc) + g.rest.String()
	}
	return page, nil
}

// Get returns one item, read strongly consistent, or an error that wraps ErrNotFound. The key has
// the name, the sort key, and the attributes from which the layout calculates the write
// shard. It costs one GetItem, and more only near a change of the shard count.
func (t *Table) Get(ctx context.Context, key Item, now time.Time) (Item, error) {
	const operation = "reading an item of"
	r := t.raw(now)
	name, places, err := r.find(ctx, operation, key)
	if err != nil {
		return nil, err
	}
	_, it, err := r.locate(ctx, places, r.identity(key))
	if err == nil && it == nil {
		err = shard.ErrNotFound
	}
	if err != nil {
		return nil, t.describe(operation, name, err)
	}
	return t.withCallerKeys(it, name, key), nil
}
