package ddb

import (
	"context"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"
)

// count adds up the range without reading its items' contents into memory.
func (g *gather) count(ctx context.Context) (int, error) {
	if g.t.reads == placed {
		return g.countRead(ctx)
	}
	if g.span.empty() {
		return 0, nil
	}
	groups, err := g.t.Layout.partitions(ctx, g.t, g.name, g.span)
	if err != nil {
		return 0, err
	}
	var total atomic.Int64
	for batch := range batches(groups) {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(maxParallel)
		for i, p := range batch {
			s := g.stream(p, len(batch), i)
			s.input.Select = types.SelectCount
			group.Go(func() error { return s.count(ctx, &total) })
		}
		if err := group.Wait(); err != nil {
			return 0, err
		}
	}
	return int(total.Load()), nil
}

func (g *gather) countRead(ctx context.Context) (int, error) {
	n := 0
	for _, err := range g.all(ctx) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

func (s *stream) count(ctx context.Context, total *atomic.Int64) error {
	for {
		out, err := s.query(ctx)
		if err != nil {
			return err
		}
		total.Add(int64(out.Count))
		if s.input.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return nil
		}
	}
}
