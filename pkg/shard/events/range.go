package events

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/internal/given"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Range selects the events of an entity with From <= time < To, in the order of (time, id).
type Range struct {
	Entity   string
	From, To time.Time
	Limit    int    // events per page; 0 or less is 100
	Bytes    int    // a page ends with the event that brings its items to this size; 0 is no bound
	Desc     bool   // newest first
	After    string // Page.Next of the previous page; "" for the first
}

// Page is a page of a range. Next is "" at the range's end; otherwise it is the next page's
// Range.After. A page may hold fewer events than the limit, or none: it reads at most
// MaxQueries partitions, or all of a first day that has more.
type Page struct {
	Events []Event
	Next   string
}

// defaultPage is the number of events of a page without a Limit.
const defaultPage = 100

// MaxQueries bounds the partitions (write shards of a day) read for a page. A first day with
// more is read whole.
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

// rangeScan is the state of reading one page. It reads days in groups that double. So a dense
// range makes no needless query, and a sparse one needs few round trips.
type rangeScan struct {
	reader    *Reader
	entry     shardmap.Entry
	now       time.Time
	entity    string
	desc      bool
	after     string    // exclusive position
	low, high string    // sort keys, both included; no event equals either
	from, to  time.Time // times, to the millisecond
	queries   int
	most      int // bytes a page, 0 for no bound
	bytes     int // of the page's items so far
}

// resume narrows the bounds to what lies after the position.
func (s *rangeScan) resume() error {
	if s.after == "" {
		return nil
	}
	if len(s.after) < len(schema.TimeLayout) {
		return fmt.Errorf("position %q is not an event's", s.after)
	}
	if s.desc {
		s.high = min(s.high, s.after)
	} else {
		s.low = max(s.low, s.after)
	}
	return nil
}

func (s *rangeScan) page(ctx context.Context, limit int) (Page, error) {
	first, last, err := s.days()
	if err != nil {
		return Page{}, err
	}
	var page Page
	for group := 1; !first.After(last); group = min(2*group, dynamo.MaxParallel) {
		var days []time.Time
		for streams := s.queries; len(days) < group && !first.After(last); {
			next := first
			if s.desc {
				next = last
			}
			if streams += s.count(next); streams > MaxQueries && streams > s.count(next) {
				break
			}
			days = append(days, next)
			if s.desc {
				last = last.Add(-day)
			} else {
				first = first.Add(day)
			}
		}
		if len(days) == 0 {
			page.Next = s.boundary(first, last)
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

// days returns the first and last day within the bounds.
func (s *rangeScan) days() (first, last time.Time, err error) {
	const n = len(schema.TimeLayout)
	if s.from, err = time.Parse(schema.TimeLayout, s.low[:n]); err == nil {
		s.to, err = time.Parse(schema.TimeLayout, s.high[:n])
	}
	if err != nil {
		return first, last, fmt.Errorf("reading the range's bounds: %w", err)
	}
	if s.low >= s.high {
		return s.from, s.from.Add(-day), nil // nothing to read
	}
	return s.from.Truncate(day), s.to.Truncate(day), nil
}

// count returns how many write shards may have the range's events of a day.
func (s *rangeScan) count(d time.Time) int {
	from, to := d, d.Add(day)
	if s.from.After(from) {
		from = s.from
	}
	if s.to.Before(to) {
		to = s.to
	}
	return s.entry.Shards(from.Add(-shardmap.Margin), to.Add(shardmap.Margin))
}

// boundary returns the position between the days read and the days left.
func (s *rangeScan) boundary(first, last time.Time) string {
	if s.desc {
		return schema.EventBound(last.Add(day))
	}
	return schema.EventBound(first)
}

// stream reads the range's events of a partition, size events per page.
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
	return &dynamo.Stream{Client: s.reader.client, Input: input, Sort: schema.SK, Drop: isMark}
}

// merge appends the events of some days to the page, in order, and reports whether the page is
// full with more to come.
func (s *rangeScan) merge(ctx context.Context, days []time.Time, limit int, page *Page) (bool, error) {
	var streams []*dynamo.Stream
	for _, d := range days {
		n := s.count(d)
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
		s.after = dynamo.Text(it, schema.SK) // also drops the same event under another count
	}
}

// isMark reports whether the item is a stream marker, which an audit puts among the events.
func isMark(it dynamo.Item) bool {
	_, ok := schema.ParseMark(dynamo.Text(it, schema.SK))
	return ok
}
