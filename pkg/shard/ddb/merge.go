package ddb

import (
	"container/heap"
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/schema"
)

// stream reads one partition's items between the scan's bounds, page by page.
type stream struct {
	scan *rangeScan
	pk   string
	size int // items a page
	buf  []item
	from item // where the next page starts
	done bool
}

// fill reads pages until there is an item or the partition is at its end.
func (s *stream) fill(ctx context.Context) error {
	for len(s.buf) == 0 && !s.done {
		out, err := s.query(ctx)
		if err != nil {
			return err
		}
		s.buf = slices.DeleteFunc(out.Items, isMark)
		s.from = out.LastEvaluatedKey
		s.done = len(s.from) == 0
	}
	return nil
}

// isMark tells what an audit puts among the events for a while.
func isMark(it item) bool {
	_, ok := schema.ParseMark(text(it, schema.SK))
	return ok
}

func (s *stream) query(ctx context.Context) (out *dynamodb.QueryOutput, err error) {
	input := &dynamodb.QueryInput{
		TableName:              &s.scan.reader.table,
		KeyConditionExpression: aws.String("pk = :pk AND sk BETWEEN :low AND :high"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":pk":   &types.AttributeValueMemberS{Value: s.pk},
			":low":  &types.AttributeValueMemberS{Value: s.scan.low},
			":high": &types.AttributeValueMemberS{Value: s.scan.high},
		},
		ScanIndexForward:  aws.Bool(!s.scan.desc),
		Limit:             aws.Int32(int32(s.size)),
		ExclusiveStartKey: s.from,
	}
	err = persist(ctx, func(ctx context.Context) error {
		out, err = s.scan.reader.client.Query(ctx, input, once)
		return err
	})
	return out, err
}

func (s *stream) head() string { return text(s.buf[0], schema.SK) }

// merge yields the items of many streams in the order of their sort keys. It is
// a heap of the streams that have items, by their first.
type merge struct {
	streams []*stream
	desc    bool
}

func newMerge(ctx context.Context, streams []*stream, desc bool) (*merge, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxParallel)
	for _, s := range streams {
		group.Go(func() error { return s.fill(ctx) })
	}
	if err := group.Wait(); err != nil {
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
