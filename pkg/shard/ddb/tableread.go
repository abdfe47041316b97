package ddb

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

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
			if !yield(found.item, nil) {
				return
			}
			if given++; given == s.Limit {
				return
			}
		}
	}
}

// ItemPage is a part of a range. Next is "" at the range's end; otherwise it is the
// next page's Span.After, and the page may hold fewer items than the limit, or none:
// a page reads at most MaxQueries partitions, but for a first bucket that has more.
type ItemPage struct {
	Items []Item
	Next  string
}

// Page reads a part of a range, Span.Limit items or 100. Pages neither miss nor
// repeat an item, also when the shard count changes between them.
func (t *Table) Page(ctx context.Context, name string, s Span) (ItemPage, error) {
	if s.Limit <= 0 {
		s.Limit = 100
	}
	g, err := t.gather(name, s)
	if err != nil {
		return ItemPage{}, t.describe("reading a page of", name, err)
	}
	g.most = MaxQueries
	var page ItemPage
	var last position
	for found, err := range g.all(ctx) {
		if err != nil {
			return ItemPage{}, t.describe("reading a page of", name, err)
		}
		if len(page.Items) == s.Limit {
			page.Next = g.cursor(last)
			return page, nil
		}
		page.Items, last = append(page.Items, found.item), found.at
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
		return 0, fmt.Errorf("%w: a count has no Limit and no After", ErrMisused)
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
		err = ErrNotFound
	}
	if err != nil {
		return nil, t.describe(operation, name, err)
	}
	return t.seen(it, name, key), nil
}

// look reads the places in turn until one has the item; it is nil when none has.
func (t *Table) look(ctx context.Context, places []place, id identity) (place, Item, error) {
	for _, p := range places {
		it, err := t.read(ctx, p)
		if err != nil || id.matches(it) {
			return p, it, err
		}
	}
	return place{}, nil, nil
}

// seen gives a stored item the keys that callers know.
func (t *Table) seen(it Item, name string, key Item) Item {
	it[t.PartitionKey], it[t.SortKey] = &types.AttributeValueMemberS{Value: name}, key[t.SortKey]
	return it
}

// read returns what is at a place, consistently, nil for nothing.
func (t *Table) read(ctx context.Context, p place) (it Item, err error) {
	consistent := true
	err = persist(ctx, func(ctx context.Context) error {
		out, err := t.Client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.Name, Key: t.key(p), ConsistentRead: &consistent}, once)
		if err == nil {
			it = out.Item
		}
		return err
	})
	return it, err
}

// find returns the places where the item of a key may be, for an operation that
// errors name.
func (t *Table) find(ctx context.Context, operation string, key Item) (name string, places []place, err error) {
	if err := t.fault(); err != nil {
		return "", nil, err
	}
	if name, err = t.name(key); err != nil {
		return "", nil, err
	}
	if t.Layout.found() {
		places, err = t.Layout.places(ctx, t, name, key)
	} else {
		kind := strings.TrimPrefix(fmt.Sprintf("%T", t.Layout), "ddb.")
		err = fmt.Errorf("%w: items whose write shards a %s draws by chance can't be found singly: read the range of the one sort key", ErrMisused, kind)
	}
	if err != nil {
		return "", nil, t.describe(operation, name, err)
	}
	return name, places, nil
}
