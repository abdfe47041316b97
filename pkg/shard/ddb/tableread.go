package ddb

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Query streams the items of a name in the order of their sort keys, read from all
// its write shards in parallel; items with equal sort keys come in the order of their
// write shards. Memory holds about a page (1 MB) of each write shard. The stream
// ends with the first error, whose item is nil.
func (t *Table) Query(ctx context.Context, name string, s Span) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		g, err := t.gather(name, s)
		if err != nil {
			yield(nil, err)
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
		return ItemPage{}, err
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
	if s.Limit != 0 || s.After != "" {
		return 0, fmt.Errorf("%w: counting %q of table %s: a count has no Limit and no After", ErrMisused, name, t.Name)
	}
	g, err := t.gather(name, s)
	if err != nil {
		return 0, err
	}
	n, err := g.count(ctx)
	if err != nil {
		return 0, t.describe("counting", name, err)
	}
	return n, nil
}

// Get reads one item, consistently, or returns an error of kind ErrNotFound. The key
// is an item with the name, the sort key and what the layout calculates the write
// shard from. That is one GetItem, and more only near a change of the shard count.
func (t *Table) Get(ctx context.Context, key Item) (Item, error) {
	name, places, err := t.find(ctx, key)
	if err != nil {
		return nil, err
	}
	_, it, err := t.look(ctx, places)
	if err != nil {
		return nil, err
	}
	if it == nil {
		return nil, t.describe("reading an item of", name, ErrNotFound)
	}
	return t.seen(it, name, key), nil
}

// look reads the places in turn until one has an item; it is nil when none has.
func (t *Table) look(ctx context.Context, places []place) (place, Item, error) {
	for _, p := range places {
		it, err := t.read(ctx, p)
		if err != nil || it != nil {
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

func (t *Table) read(ctx context.Context, p place) (it Item, err error) {
	consistent := true
	err = persist(ctx, func(ctx context.Context) error {
		out, err := t.Client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.Name, Key: t.key(p), ConsistentRead: &consistent}, once)
		if err == nil {
			it = out.Item
		}
		return err
	})
	if err != nil {
		return nil, t.describe("reading an item of", p.pk, err)
	}
	return it, nil
}

// find returns the places where the item of a key may be.
func (t *Table) find(ctx context.Context, key Item) (string, []place, error) {
	if err := t.fault(); err != nil {
		return "", nil, err
	}
	if !t.Layout.found() {
		kind := strings.TrimPrefix(fmt.Sprintf("%T", t.Layout), "ddb.")
		return "", nil, fmt.Errorf("%w: table %s: items of a %s without By can't be found singly", ErrMisused, t.Name, kind)
	}
	name, err := t.name(key)
	if err != nil {
		return "", nil, err
	}
	places, err := t.Layout.places(ctx, t, name, key)
	return name, slices.Clip(places), err
}
