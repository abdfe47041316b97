package ddb

import (
	"container/heap"
	"context"
	"slices"

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
	drop   func(item) bool      // what is not to be seen; nil for nothing
	buf    []item
	done   bool
}

// fill reads pages until there is an item or the partition is at its end.
func (s *stream) fill(ctx context.Context) error {
	for len(s.buf) == 0 && !s.done {
		out, err := s.query(ctx)
		if err != nil {
			return err
		}
		s.buf = out.Items
		if s.drop != nil {
			s.buf = slices.DeleteFunc(s.buf, s.drop)
		}
		s.input.ExclusiveStartKey = out.LastEvaluatedKey
		s.done = len(out.LastEvaluatedKey) == 0
	}
	return nil
}

func (s *stream) query(ctx context.Context) (out *dynamodb.QueryOutput, err error) {
	err = persist(ctx, func(ctx context.Context) error {
		out, err = s.client.Query(ctx, s.input, once)
		return err
	})
	return out, err
}

func (s *stream) head() string { return text(s.buf[0], s.sort) }

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
	if err := s.fill(ctx); err != nil {
		return nil, err
	}
	if len(s.buf) == 0 {
		heap.Pop(m)
	} else {
		heap.Fix(m, 0)
	}
	return first, nil
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
	a, b := m.streams[i].head(), m.streams[j].head()
	if m.desc {
		return a > b
	}
	return a < b
}
