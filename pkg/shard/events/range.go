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
	Bytes    int    // a page ends once its items have this size together; 0 means no bound
	Desc     bool   // newest first
	After    string // Page.Next of the previous page; "" for the first
}

// Page is a page of a range. It may hold fewer events than the limit, or none, even if the range
// goes on: a page reads at most MaxQueries partitions, or all of one day that has more.
type Page struct {
	Events []Event
	Next   string // Range.After of the next page; "" at the range's end
}

// MaxQueries bounds the partitions (write shards of a day) that a page reads. If the page's first
// day has more, it reads all of that day.
const MaxQueries = 1000

// Query returns a page of a range by eventually consistent reads. It reads all write shards that the entity had in the
// range, in parallel, and returns each event once. A range that fits into one page may lack events of about the last
// second. If it takes several pages, Query also reads the entity's entry in the shard map for a page that reaches into
// the last 30 s, at 1 RCU, and reads the page again if write shards were added. So the pages together miss no event
// that was stored before the first page was read.
func (e *Reader) Query(ctx context.Context, r Range, now time.Time) (Page, error) {
	if err := observe.CheckArguments(e.client, e.shards, r.Entity); err != nil {
		return Page{}, fmt.Errorf("reading events: %w", err)
	}
	if r.Limit <= 0 {
		r.Limit = 100
	}
	stored, err := r.storedRange(now)
	if err != nil {
		return Page{}, err
	}
	page, err := e.readSettledPage(ctx, r, stored, now)
	if err != nil {
		return Page{}, fmt.Errorf("reading events of %q: %w", r.Entity, err)
	}
	return page, nil
}

// readSettledPage reads a page by the view's counts. If newer counts may matter to the page, it reads them from the
// table, and reads the page again if they have changed.
func (e *Reader) readSettledPage(ctx context.Context, r Range, stored place.Range, now time.Time) (Page, error) {
	entry, err := e.shards.Lookup(ctx, Key(r.Entity), now)
	if err != nil {
		return Page{}, err
	}
	page, err := e.readPage(ctx, r, stored, entry, now)
	if err != nil || !r.isUnsettled(page, now) {
		return page, err
	}
	current, err := e.shards.Current(ctx, Key(r.Entity))
	if err != nil || current.Version == entry.Version {
		return page, err
	}
	return e.readPage(ctx, r, stored, current, now)
}

// isUnsettled reports whether a view's counts may be too old for the page: the range takes several pages, and the page's
// part of the range reaches into the last shardmap.Unsettled. It may lack events on write shards that the view lacks.
func (r Range) isUnsettled(page Page, now time.Time) bool {
	end, newest := r.To, page.Next
	if r.Desc {
		newest = r.After
	}
	if at, _, err := shard.Millis.ParseBound(newest); err == nil && at.Before(end) {
		end = at
	}
	hasCursor := r.After != "" || page.Next != ""
	return hasCursor && end.After(now.Add(-shardmap.Unsettled))
}

// storedRange returns the range of sort keys after r.After. It leaves out expired events, and the stream markers that
// checks write among the events.
func (r Range) storedRange(now time.Time) (place.Range, error) {
	if _, _, err := shard.Millis.ParseBound(r.After); r.After != "" && err != nil {
		return place.Range{}, fmt.Errorf("%w: Range.After %q is malformed: pass the Next of the previous page", shard.ErrMisused, r.After)
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
			_, isMarker := schema.ParseMarker(sk)
			return isMarker || sk == r.After || dynamo.Expired(it, now)
		},
	}, nil
}

// readPage reads a page by the entity's counts.
func (e *Reader) readPage(ctx context.Context, r Range, stored place.Range, entry shardmap.Entry, now time.Time) (page Page, err error) {
	items, rest := place.ReadRange(ctx, e.days(entry), Key(r.Entity), stored, now)
	last, size := "", 0
	for found, err := range items {
		if err != nil {
			return Page{}, err
		}
		reachedBytes := r.Bytes > 0 && size >= r.Bytes
		if reachedBytes || len(page.Events) == r.Limit {
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

// days returns the events of an entity as a table with a bucket for each day. The table can only read ranges.
func (e *Reader) days(entry shardmap.Entry) *table.Table {
	return &table.Table{
		Client: querier{queries: e.client}, Name: e.table, PartitionKey: schema.PK, SortKey: schema.SK, Shards: oneEntry(entry),
		Layout: table.TimeBuckets{Bucket: schema.EventBucket, By: schema.SK}, Calculate: eventShard,
	}
}

// oneEntry is a table.Counts with the same entry for every key.
type oneEntry shardmap.Entry

// Lookup returns the entry.
func (e oneEntry) Lookup(context.Context, string, time.Time) (shardmap.Entry, error) {
	return shardmap.Entry(e), nil
}

// eventShard returns the write shard among n of the event with a sort key.
func eventShard(sk string, n int) int {
	_, id, _ := schema.ParseEventSortKey(sk)
	return shard.Calculated(id, n)
}

// querier is a client with the one operation that a range needs.
type querier struct {
	table.Client // nil: no other operation is called
	queries      client.Querier
}

// Query reads a page of a partition.
func (q querier) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return q.queries.Query(ctx, in, o...)
}
