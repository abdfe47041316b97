package ddb

import (
	"container/heap"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/schema"
)

// querier is what a stream calls of DynamoDB.
type querier interface {
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// stream reads one partition of a table or an index, page by page.
type stream struct {
	client querier
	input  *dynamodb.QueryInput // of the next page
	sort   string               // the sort key's name
	by     string               // orders items with equal sort keys; "" for none
	drop   func(item) bool      // what is not to be seen; nil for nothing
	order  int                  // among equal sort keys
	buf    []item
	page   int // how many items came last
	done   bool
}

// fill reads pages until there is an item or the partition is at its end.
func (s *stream) fill(ctx context.Context) error {
	for len(s.buf) == 0 && !s.done {
		if err := s.more(ctx); err != nil {
			return err
		}
	}
	return nil
}

// more reads another page.
func (s *stream) more(ctx context.Context) error {
	out, err := s.query(ctx)
	if err != nil {
		return err
	}
	items := out.Items
	if s.drop != nil {
		items = slices.DeleteFunc(items, s.drop)
	}
	s.page = len(items)
	s.buf = append(s.buf, items...)
	s.input.ExclusiveStartKey = out.LastEvaluatedKey
	s.done = len(out.LastEvaluatedKey) == 0
	return nil
}

func (s *stream) query(ctx context.Context) (out *dynamodb.QueryOutput, err error) {
	err = persist(ctx, func(ctx context.Context) error {
		out, err = s.client.Query(ctx, s.input, once)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("querying %s: %w", s.name(), err)
	}
	return out, nil
}

// name is the partition key's value, for errors.
func (s *stream) name() string {
	for _, placeholder := range []string{":pk", ":shard"} {
		if pk := text(s.input.ExpressionAttributeValues, placeholder); pk != "" {
			return strconv.Quote(pk)
		}
	}
	return "a partition"
}

// position is the first item's.
func (s *stream) position() position {
	return position{s.buf[0][s.sort], apart(s.buf[0], s.by), s.order}
}

// isMark tells what an audit puts among the events for a while.
func isMark(it item) bool {
	_, ok := schema.ParseMark(text(it, schema.SK))
	return ok
}

// merge yields the items of many streams in the order of their sort keys. It is
// a heap of the streams that have items, by their first.
type merge struct {
	streams []*stream
	desc    bool
	ahead   bool // all will be read: let streams that are short of items read together
}

func newMerge(ctx context.Context, streams []*stream, desc bool) (*merge, error) {
	if err := fillAll(ctx, streams); err != nil {
		return nil, err
	}
	m := &merge{desc: desc}
	for _, s := range streams {
		if len(s.buf) > 0 {
			m.streams = append(m.streams, s)
		}
	}
	heap.Init(m)
	return m, nil
}

// fillAll fills streams in parallel.
func fillAll(ctx context.Context, streams []*stream) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxParallel)
	for _, s := range streams {
		group.Go(func() error { return s.fill(ctx) })
	}
	return group.Wait()
}

// next returns the next item in order, nil at the end.
func (m *merge) next(ctx context.Context) (item, error) {
	if len(m.streams) == 0 {
		return nil, nil
	}
	s := m.streams[0]
	first := s.buf[0]
	s.buf = s.buf[1:]
	if err := m.refill(ctx, s); err != nil {
		return nil, err
	}
	if len(s.buf) == 0 {
		heap.Pop(m)
	} else {
		heap.Fix(m, 0)
	}
	return first, nil
}

// refill fills a stream whose buffer has run out.
func (m *merge) refill(ctx context.Context, s *stream) error {
	if len(s.buf) > 0 || s.done {
		return nil
	}
	if !m.ahead {
		return s.fill(ctx)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxParallel)
	for _, other := range m.streams {
		switch {
		case other == s:
			group.Go(func() error { return s.fill(ctx) })
		case !other.done && len(other.buf) <= other.page/4:
			group.Go(func() error { return other.more(ctx) })
		}
	}
	return group.Wait()
}

// The methods of heap.Interface.

func (m *merge) Len() int      { return len(m.streams) }
func (m *merge) Swap(i, j int) { m.streams[i], m.streams[j] = m.streams[j], m.streams[i] }
func (m *merge) Push(x any)    { m.streams = append(m.streams, x.(*stream)) }

func (m *merge) Pop() any {
	last := len(m.streams) - 1
	s := m.streams[last]
	m.streams = m.streams[:last]
	return s
}

func (m *merge) Less(i, j int) bool {
	c := m.streams[i].position().compare(m.streams[j].position())
	if m.desc {
		return c > 0
	}
	return c < 0
}

// first is the order of the stream that the next item comes from, -1 at the end.
func (m *merge) first() int {
	if len(m.streams) == 0 {
		return -1
	}
	return m.streams[0].order
}
