package table

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/place"
	"github.com/hotshard/hotshard/pkg/shard"
)

// MaxQueries bounds the partitions read for a page, but for a first bucket that has more
// by itself.
const MaxQueries = 1000

// Query streams the items of a name in the order of their sort keys, read from all
// its write shards in parallel; items with equal sort keys come in the order of what
// their write shards are calculated from, or else of the write shards. Memory holds about a page (1 MB) of each write shard. The stream
// ends with the first error, whose item is nil.
func (t *Table) Query(ctx context.Context, name string, s Span) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		g, err := t.gather(name, s)
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
func (t *Table) Page(ctx context.Context, name string, s Span) (Page, error) {
	if s.Limit <= 0 {
		s.Limit = 100
	}
	g, err := t.gather(name, s)
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
func (t *Table) Count(ctx context.Context, name string, s Span) (int, error) {
	n, err := t.countSpan(ctx, name, s)
	if err != nil {
		return 0, t.describe("counting", name, err)
	}
	return n, nil
}

func (t *Table) countSpan(ctx context.Context, name string, s Span) (int, error) {
	if s.Limit != 0 || s.After != "" {
		return 0, fmt.Errorf("%w: a count has no Limit and no After", shard.ErrMisused)
	}
	g, err := t.gather(name, s)
	if err != nil {
		return 0, err
	}
	return g.count(ctx)
}

// Get reads one item, consistently, or returns an error of kind ErrNotFound. The key
// is an item with the name, the sort key and what the layout calculates the write
// shard from. That is one GetItem, and more only near a change of the shard count.
func (t *Table) Get(ctx context.Context, key Item) (Item, error) {
	const operation = "reading an item of"
	name, places, err := t.find(ctx, operation, key)
	if err != nil {
		return nil, err
	}
	_, it, err := t.look(ctx, places, t.identity(key))
	if err == nil && it == nil {
		err = shard.ErrNotFound
	}
	if err != nil {
		return nil, t.describe(operation, name, err)
	}
	return t.seen(it, name, key), nil
}

// look reads the places in turn until one has the item; it is nil when none has.
func (t *Table) look(ctx context.Context, places []place.Place, id place.Identity) (place.Place, Item, error) {
	for _, p := range places {
		it, err := t.readAt(ctx, p)
		if err != nil || id.Matches(it) {
			return p, it, err
		}
	}
	return place.Place{}, nil, nil
}

// seen gives a stored item the keys that callers know.
func (t *Table) seen(it Item, name string, key Item) Item {
	it[t.PartitionKey], it[t.SortKey] = dynamo.String(name), key[t.SortKey]
	return it
}

// readAt returns what is at a place, consistently, nil for nothing.
func (t *Table) readAt(ctx context.Context, p place.Place) (it Item, err error) {
	consistent := true
	err = dynamo.Persist(ctx, func(ctx context.Context) error {
		out, err := t.Client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.Name, Key: t.key(p), ConsistentRead: &consistent}, dynamo.NoRetry)
		if err == nil {
			it = out.Item
		}
		return err
	})
	return it, err
}

// find returns the places where the item of a key may be, for an operation that
// errors name.
func (t *Table) find(ctx context.Context, operation string, key Item) (name string, places []place.Place, err error) {
	if err := t.Check(); err != nil {
		return "", nil, err
	}
	if name, err = t.nameOf(key); err != nil {
		return "", nil, err
	}
	if t.Layout.found() {
		places, err = t.Layout.places(ctx, t, name, key)
	} else {
		kind := strings.TrimPrefix(fmt.Sprintf("%T", t.Layout), "table.")
		err = fmt.Errorf("%w: items whose write shards a %s draws by chance can't be found singly: read the range of the one sort key", shard.ErrMisused, kind)
	}
	if err != nil {
		return "", nil, t.describe(operation, name, err)
	}
	return name, places, nil
}

// scan yields what is stored of a range, in order, with where it is.
func (t *Table) scan(ctx context.Context, name string, s Span) iter.Seq2[Stored, error] {
	g, err := t.gather(name, s)
	if err != nil {
		return func(yield func(Stored, error) bool) { yield(Stored{}, err) }
	}
	return g.all(ctx)
}
