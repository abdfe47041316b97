package table

import (
	"context"
	"iter"
	"time"

	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/place"
)

// MaxQueries bounds the partitions that are read for a page. If the page's first time bucket has more partitions, all of
// that bucket is read.
const MaxQueries = 1000

// Query streams the items of a name in the order of their sort keys, read from all its write shards in parallel. Items
// with equal sort keys are in the order of the attribute from which their write shards are calculated, or else of the
// write shards. Query reads ahead about a page (1 MB) per write shard and keeps it in memory. A loop that stops early
// pays for all of it, so set Span.Limit: then 20 items of 64 write shards may cost 32 RCU, not 407. The stream ends
// with the first error, whose item is nil. The parameter now is the time of the call, even if the loop starts later.
func (t *Table) Query(ctx context.Context, name string, s Span, now time.Time) iter.Seq2[Item, error] {
	r := t.startCall(now)
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

// Page is a page of a range. Next is "" at the range's end; otherwise it is the next page's Span.After. A page may hold
// fewer items than the limit, or none: it reads at most MaxQueries partitions, or all of a first bucket that has more.
type Page struct {
	Items []Item
	Next  string
}

// Page returns a page of a range: Span.Limit items, or 100 if Limit is 0. It queries each write shard and reads more than
// Limit items in all: docs/patterns.md has the cost. Successive pages neither miss nor repeat an item, even if the shard
// count changes between them. With random write shards and a shard map, each page also reads the name's entry, except for
// time buckets that ended over 30 s ago. Page returns ErrMisused if Span.After belongs to another name or direction.
func (t *Table) Page(ctx context.Context, name string, s Span, now time.Time) (Page, error) {
	if s.Limit <= 0 {
		s.Limit = 100
	}
	g, err := t.startCall(now).gather(name, s)
	var page Page
	if err == nil {
		g.useCurrentCounts()
		page, err = g.page(ctx)
	}
	if err != nil {
		return Page{}, t.describe("reading a page of", name, err)
	}
	return page, nil
}

// page reads a page of at most Span.Limit items. It reads one item more, to know whether another page follows.
func (g *gather) page(ctx context.Context) (page Page, err error) {
	g.maxPartitions, g.rest = MaxQueries, nil
	name, s := g.name, g.span
	var last place.Position
	for found, err := range g.all(ctx) {
		if err != nil {
			return Page{}, err
		}
		if len(page.Items) == s.Limit {
			page.Next = cursorPrefix(name, s.Desc) + g.cursor(last).String()
			return page, nil
		}
		page.Items, last = append(page.Items, found.Item), found.At
	}
	if g.rest != nil {
		page.Next = cursorPrefix(name, s.Desc) + g.rest.String()
	}
	return page, nil
}

// Get returns one item, read strongly consistent, or an error that wraps ErrNotFound. The key has
// the name, the sort key, and the attributes from which the layout calculates the write
// shard. Get costs one GetItem, or more for items dated near a change of the shard count.
func (t *Table) Get(ctx context.Context, key Item, now time.Time) (Item, error) {
	const operation = "reading an item of"
	r := t.startCall(now)
	name, places, err := r.findPlaces(ctx, operation, key)
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
