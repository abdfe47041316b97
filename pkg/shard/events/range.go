package events

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/internal/place"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// Range selects the events of an entity with From <= time < To, ordered by time and then by id.
type Range struct {
	Entity   string
	From, To time.Time
	Limit    int    // events per page; 0 or less means 100
	Bytes    int    // a page ends with the event that brings its items to this size; 0 means no bound
	Desc     bool   // newest first
	After    string // Page.Next of the previous page; "" for the first
}

// Page is a page of a range. It may hold fewer events than the limit, or none, even if the range
// goes on: a page reads at most MaxQueries partitions, or all of one day that has more.
type Page struct {
	Events []Event
	Next   string // Range.After of the next page; "" at the range's end
}

// defaultPage is the number of events of a page without a Limit.
const defaultPage = 100

// MaxQueries bounds the partitions (write shards of a day) that a page reads. If the page's first
// day has more, it reads all of that day.
const MaxQueries = 1000

// Query returns a page of a range by eventually consistent reads. It reads all write shards
// that the entity had in the range, in parallel, and returns each event once. A page without a cursor, neither After
// nor Next, may lack events of about the last second. If a page has one and the range ends recently, Query also
// reads the entity's entry in the shard map, at 1 RCU, so that no cursor passes an event that was stored before.
func (e *Reader) Query(ctx context.Context, r Range, now time.Time) (Page, error) {
	if err := observe.CheckArguments(e.client, e.shards, r.Entity); err != nil {
		return Page{}, fmt.Errorf("reading events: %w", err)
	}
	if r.Limit <= 0 {
		r.Limit = defaultPage
	}
	of, err := r.places(now)
	if err != nil {
		return Page{}, err
	}
	key := Key(r.Entity)
	entry, err := e.shards.Lookup(ctx, key, now)
	var page Page
	if err == nil {
		page, err = e.readPage(ctx, r, of, entry, now)
	}
	if err == nil && r.isUnsettled(page, now) {
		var current shardmap.Entry
		if current, err = e.shards.Current(ctx, key); err == nil && current.Version != entry.Version {
			page, err = e.readPage(ctx, r, of, current, now)
		}
	}
	if err != nil {
		return Page{}, fmt.Errorf("reading events of %q: %w", r.Entity, err)
	}
	return page, nil
}

// isUnsettled reports whether a cursor of the page may pass new events on write shards that a view does not have yet.
func (r Range) isUnsettled(page Page, now time.Time) bool {
	end, newest := r.To, page.Next
	if r.Desc {
		newest = r.After
	}
	if at, _, err := shard.Millis.ParseBound(newest); err == nil && at.Before(end) {
		end = at
	}
	return (r.After != "" || page.Next != "") && end.After(now.Add(-shardmap.Unsettled))
}

// places returns the range from its position on, without stream markers, which a check writes among the
// events, and expired events.
func (r Range) places(now time.Time) (place.Range, error) {
	if _, _, err := shard.Millis.ParseBound(r.After); r.After != "" && err != nil {
		return place.Range{}, fmt.Errorf("%w: Range.After %q is malformed: use Page.Next", shard.ErrMisused, r.After)
	}
	low, high := schema.EventBound(r.From), schema.EventBound(r.To)
	switch {
	case r.After == "":
	case r.Desc:
		high = min(high, r.After)
	default:
		low = max(low, r.After)
	}
	return place.Range{
		Low: dynamo.String(low), High: dynamo.String(high), Desc: r.Desc, Limit: r.Limit, MaxQueries: MaxQueries,
		Drop: func(it dynamo.Item) bool {
			sk := dynamo.Text(it, schema.SK)
			_, marker := schema.ParseMark(sk)
			return marker || sk == r.After || dynamo.Expired(it, now)
		},
	}, nil
}

// readPage reads a page by the entity's counts.
func (e *Reader) readPage(ctx context.Context, r Range, of place.Range, entry shardmap.Entry, now time.Time) (page Page, err error) {
	items, rest := place.ReadRange(ctx, e.days(entry), Key(r.Entity), of, now)
	last, size := "", 0
	for found, err := range items {
		if err != nil {
			return Page{}, err
		}
		if len(page.Events) == r.Limit || r.Bytes > 0 && size >= r.Bytes {
			page.Next = last
			return page, nil
		}
		found.Item[schema.PK] = dynamo.String(found.PK)
		ev, err := parseEvent(r.Entity, found.Item)
		if err != nil {
			return Page{}, err
		}
		page.Events, last = append(page.Events, ev), dynamo.Text(found.Item, schema.SK)
		size += dynamo.Size(found.Item)
	}
	if at := rest(); at != nil {
		page.Next = place.SortText(at.Sort)
	}
	return page, nil
}

// days returns the events of an entity as a table with a bucket for each day. Only ranges are read from it.
func (e *Reader) days(entry shardmap.Entry) *table.Table {
	return &table.Table{
		Client: querier{queries: e.client}, Name: e.table, PartitionKey: schema.PK, SortKey: schema.SK, Shards: known(entry),
		Layout: table.TimeBuckets{Bucket: schema.EventBucket, By: schema.SK}, Calculate: calculate,
	}
}

// known is the counts of one entity.
type known shardmap.Entry

// Lookup returns the entry.
func (k known) Lookup(context.Context, string, time.Time) (shardmap.Entry, error) {
	return shardmap.Entry(k), nil
}

// calculate returns the write shard of the event with a sort key; the number for other sort keys has no meaning.
func calculate(sk string, n int) int {
	_, id, _ := schema.ParseEventSortKey(sk)
	return shard.Calculated(id, n)
}

// querier is a client with the one operation that a range needs.
type querier struct {
	table.Client // nil
	queries      client.Querier
}

// Query reads a page of a partition.
func (q querier) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return q.queries.Query(ctx, in, o...)
}
