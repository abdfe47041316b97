package dynamo

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/pkg/shard/client"
)

// Stream reads one partition of a table or an index, page by page.
type Stream struct {
	Client     client.Querier
	Input      *dynamodb.QueryInput // of the next page
	SortKey    string               // the sort key's name
	TieBreaker string               // the attribute that orders items with equal sort keys; "" if there are none
	Drop       func(Item) bool      // reports whether to skip an item; may be nil
	Order      int                  // orders items of several streams with equal sort keys and tie breakers
	Buf        []Item               // read and not yet merged
	lastPage   int                  // number of items of the last page
	Done       bool                 // there are no more pages
}

// fill reads pages until there is an item or the partition is at its end.
func (s *Stream) fill(ctx context.Context) error {
	for len(s.Buf) == 0 && !s.Done {
		if err := s.readPage(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stream) readPage(ctx context.Context) error {
	out, err := Persistent(s.Client).Query(ctx, s.Input)
	if err != nil {
		return fmt.Errorf("querying %s: %w", s.partitionName(), err)
	}
	items := out.Items
	if s.Drop != nil {
		items = slices.DeleteFunc(items, s.Drop)
	}
	s.lastPage = len(items)
	s.Buf = append(s.Buf, items...)
	s.Input.ExclusiveStartKey = out.LastEvaluatedKey
	s.Done = len(out.LastEvaluatedKey) == 0
	return nil
}

// partitionName returns the partition key's value, quoted, for errors.
func (s *Stream) partitionName() string {
	for _, placeholder := range []string{":pk", ":shard"} {
		if pk := Text(s.Input.ExpressionAttributeValues, placeholder); pk != "" {
			return strconv.Quote(pk)
		}
	}
	return "a partition"
}

// compare compares streams by their first items.
func (s *Stream) compare(other *Stream) int {
	a, b := s.Buf[0], other.Buf[0]
	if c := CompareValues(a[s.SortKey], b[other.SortKey]); c != 0 {
		return c
	}
	return cmp.Or(strings.Compare(TieValue(a, s.TieBreaker), TieValue(b, other.TieBreaker)), cmp.Compare(s.Order, other.Order))
}

// Count returns the number of items of all pages, without their contents: the input's Select is COUNT.
func (s *Stream) Count(ctx context.Context) (n int, err error) {
	for page, err := range Pages(ctx, Persistent(s.Client), s.Input) {
		if err != nil {
			return n, fmt.Errorf("querying %s: %w", s.partitionName(), err)
		}
		n += int(page.Count)
	}
	return n, nil
}

// Merge yields the items of many streams in the order of their sort keys. It is a heap of the
// streams that have items, ordered by their first items.
type Merge struct {
	streams    []*Stream
	descending bool
	Ahead      bool // all items will be read: streams that are short of items read their next pages in parallel
	Want       int  // at most so many items will be read, which bounds the size of later pages; 0 means all
}

// NewMerge returns a Merge of streams, after filling each of them.
func NewMerge(ctx context.Context, streams []*Stream, desc bool) (*Merge, error) {
	if err := FillAll(ctx, streams); err != nil {
		return nil, err
	}
	m := &Merge{descending: desc}
	for _, s := range streams {
		if len(s.Buf) > 0 {
			m.streams = append(m.streams, s)
		}
	}
	heap.Init(m)
	return m, nil
}

// FillAll reads, in parallel, until each stream has an item or is at its end.
func FillAll(ctx context.Context, streams []*Stream) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(MaxParallel)
	for _, s := range streams {
		group.Go(func() error { return s.fill(ctx) })
	}
	return group.Wait()
}

// Next returns the next item in order, nil at the end.
func (m *Merge) Next(ctx context.Context) (Item, error) {
	if len(m.streams) == 0 {
		return nil, nil
	}
	s := m.streams[0]
	first := s.Buf[0]
	s.Buf = s.Buf[1:]
	if m.Want > 1 { // 0 would mean all
		m.Want--
	}
	if err := m.refill(ctx, s); err != nil {
		return nil, err
	}
	if len(s.Buf) == 0 {
		heap.Pop(m)
	} else {
		heap.Fix(m, 0)
	}
	return first, nil
}

// refill fills a stream if its buffer has run out and it has more pages. With Ahead it then also reads, in parallel,
// the next page of each other stream that has at most a quarter of its last page left.
func (m *Merge) refill(ctx context.Context, s *Stream) error {
	if len(s.Buf) > 0 || s.Done {
		return nil
	}
	if m.Want > 0 {
		s.Input.Limit = aws.Int32(PageSize(m.Want, len(m.streams)))
	}
	if !m.Ahead {
		return s.fill(ctx)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(MaxParallel)
	for _, other := range m.streams {
		switch {
		case other == s:
			group.Go(func() error { return s.fill(ctx) })
		case !other.Done && len(other.Buf) <= other.lastPage/4:
			group.Go(func() error { return other.readPage(ctx) })
		}
	}
	return group.Wait()
}

// The methods of heap.Interface.

func (m *Merge) Len() int { return len(m.streams) }

func (m *Merge) Swap(i, j int) { m.streams[i], m.streams[j] = m.streams[j], m.streams[i] }

func (m *Merge) Push(x any) { m.streams = append(m.streams, x.(*Stream)) }

func (m *Merge) Pop() any {
	last := len(m.streams) - 1
	s := m.streams[last]
	m.streams = m.streams[:last]
	return s
}

func (m *Merge) Less(i, j int) bool {
	c := m.streams[i].compare(m.streams[j])
	if m.descending {
		return c > 0
	}
	return c < 0
}

// NextOrder returns the Order of the stream that has the next item, or -1 at the end.
func (m *Merge) NextOrder() int {
	if len(m.streams) == 0 {
		return -1
	}
	return m.streams[0].Order
}

// PageSize returns the Limit of the queries of a merge, so that one query of each write shard is usually enough. Besides n
// items for its caller, a merge reads up to three: the last of the caller's previous page, the first of the next page,
// and one that stays buffered. One write shard has all these items. Several write shards, over which a hash spreads the
// items, have the mean each; the margin is three standard deviations and two items.
func PageSize(n, shards int) int32 {
	if shards == 1 {
		return int32(min(max(0, n), math.MaxInt32-3) + 3)
	}
	mean := float64(max(0, n)) / float64(shards)
	return int32(min(mean+3*math.Sqrt(mean)+2, math.MaxInt32))
}
