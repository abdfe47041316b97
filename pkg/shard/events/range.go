package events

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/given"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
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
// that the entity had in the range, in parallel, and returns each event once.
func (e *Reader) Query(ctx context.Context, r Range, now time.Time) (Page, error) {
	if err := given.Check(e.client, e.shards, r.Entity); err != nil {
		return Page{}, fmt.Errorf("reading events: %w", err)
	}
	entry, err := e.shards.Lookup(ctx, Key(r.Entity), now)
	if err != nil {
		return Page{}, fmt.Errorf("reading events of %q: %w", r.Entity, err)
	}
	scan := rangeScan{
		reader: e, entry: entry, now: now, entity: r.Entity, desc: r.Desc, after: r.After,
		low: schema.EventBound(r.From), high: schema.EventBound(r.To), most: r.Bytes,
	}
	if err := scan.resume(); err != nil {
		return Page{}, err
	}
	limit := r.Limit
	if limit <= 0 {
		limit = defaultPage
	}
	page, err := scan.page(ctx, limit)
	if err != nil {
		return Page{}, fmt.Errorf("reading events of %q: %w", r.Entity, err)
	}
	return page, nil
}

// rangeScan is the state of reading one page. It reads groups of days, each twice as large as the
// one before. So a dense range makes no needless query, and a sparse one needs few round trips.
type rangeScan struct {
	reader      *Reader
	entry       shardmap.Entry
	now         time.Time
	entity      string
	desc        bool
	after       string    // sort key of the last event before the page's next one
	low, high   string    // sort keys, both included; no event equals either
	from, to    time.Time // the times of low and high, to the millisecond
	first, last time.Time // the days that are left to read
	queries     int       // made so far
	most        int       // bytes a page, 0 for no bound
	bytes       int       // of the page's items so far
}

// resume narrows the bounds to the events after the position.
func (s *rangeScan) resume() error {
	if s.after == "" {
		return nil
	}
	if len(s.after) < len(schema.TimeLayout) {
		return fmt.Errorf("%w: Range.After %q is malformed: use Page.Next", shard.ErrMisused, s.after)
	}
	if s.desc {
		s.high = min(s.high, s.after)
	} else {
		s.low = max(s.low, s.after)
	}
	return nil
}

// page reads days until the page is full, or has made MaxQueries queries.
func (s *rangeScan) page(ctx context.Context, limit int) (Page, error) {
	if err := s.setDays(); err != nil {
		return Page{}, err
	}
	var page Page
	for group := 1; !s.first.After(s.last); group = min(2*group, dynamo.MaxParallel) {
		days := s.nextDays(group)
		if len(days) == 0 {
			page.Next = s.boundary()
			return page, nil
		}
		full, err := s.merge(ctx, days, limit, &page)
		if err != nil || full {
			return page, err
		}
	}
	return page, nil
}

const day = 24 * time.Hour

// setDays sets the first and the last day within the bounds.
func (s *rangeScan) setDays() (err error) {
	const n = len(schema.TimeLayout)
	if s.from, err = time.Parse(schema.TimeLayout, s.low[:n]); err == nil {
		s.to, err = time.Parse(schema.TimeLayout, s.high[:n])
	}
	if err != nil {
		return fmt.Errorf("reading the range's bounds: %w", err)
	}
	s.first, s.last = s.from.Truncate(day), s.to.Truncate(day)
	if s.low >= s.high { // nothing to read
		s.last = s.first.Add(-day)
	}
	return nil
}

// nextDays removes up to n days from those that are left to read, and returns them. It returns fewer, or
// none, if the page would make more than MaxQueries queries. A page always gets its first day.
func (s *rangeScan) nextDays(n int) (days []time.Time) {
	queries := s.queries
	for len(days) < n && !s.first.After(s.last) {
		next := s.first
		if s.desc {
			next = s.last
		}
		more := s.shardsOn(next)
		if queries > 0 && queries+more > MaxQueries {
			break
		}
		queries += more
		days = append(days, next)
		if s.desc {
			s.last = s.last.Add(-day)
		} else {
			s.first = s.first.Add(day)
		}
	}
	return days
}

// shardsOn returns how many write shards may have the range's events of a day.
func (s *rangeScan) shardsOn(d time.Time) int {
	from, to := d, d.Add(day)
	if s.from.After(from) {
		from = s.from
	}
	if s.to.Before(to) {
		to = s.to
	}
	return s.entry.RangeShards(from, to)
}

// boundary returns the position between the days that were read and those that are left.
func (s *rangeScan) boundary() string {
	if s.desc {
		return schema.EventBound(s.last.Add(day))
	}
	return schema.EventBound(s.first)
}

// stream returns a stream of the range's events in a partition, with size events per query.
func (s *rangeScan) stream(pk string, size int) *dynamo.Stream {
	input := &dynamodb.QueryInput{
		TableName:              &s.reader.table,
		KeyConditionExpression: aws.String("pk = :pk AND sk BETWEEN :low AND :high"),
		ExpressionAttributeValues: dynamo.Item{
			":pk":   dynamo.String(pk),
			":low":  dynamo.String(s.low),
			":high": dynamo.String(s.high),
		},
		ScanIndexForward: aws.Bool(!s.desc),
		Limit:            aws.Int32(int32(size)),
	}
	return &dynamo.Stream{Client: s.reader.client, Input: input, Sort: schema.SK, Drop: isMarker}
}

// merge appends the events of some days to the page, in order, and reports whether the page is
// full with more to come.
func (s *rangeScan) merge(ctx context.Context, days []time.Time, limit int, page *Page) (bool, error) {
	var streams []*dynamo.Stream
	for _, d := range days {
		n := s.shardsOn(d)
		want := (limit-len(page.Events))/n + 2
		for i := range n {
			streams = append(streams, s.stream(eventPK(s.entity, schema.EventBucket.Label(d, 0), i), want))
		}
	}
	s.queries += len(streams)
	merged, err := dynamo.NewMerge(ctx, streams, s.desc)
	if err != nil {
		return false, err
	}
	for {
		it, err := merged.Next(ctx)
		if err != nil || it == nil {
			return false, err
		}
		if dynamo.Text(it, schema.SK) == s.after || dynamo.Expired(it, s.now) {
			continue
		}
		if len(page.Events) == limit || s.most > 0 && s.bytes >= s.most {
			page.Next = s.after
			return true, nil
		}
		ev, err := parseEvent(s.entity, it)
		if err != nil {
			return false, err
		}
		page.Events = append(page.Events, ev)
		s.bytes += dynamo.Size(it)
		s.after = dynamo.Text(it, schema.SK) // so the same event on another write shard is skipped
	}
}

// isMarker reports whether the item is a stream marker, which an audit writes among the events.
func isMarker(it dynamo.Item) bool {
	_, ok := schema.ParseMark(dynamo.Text(it, schema.SK))
	return ok
}
