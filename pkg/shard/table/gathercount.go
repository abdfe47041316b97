package table

import (
	"context"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// count returns the number of items in the range, without keeping their contents in memory.
func (g *gather) count(ctx context.Context) (int, error) {
	if g.t.reads == placed {
		return g.countRead(ctx)
	}
	if g.span.empty() {
		return 0, nil
	}
	groups, err := g.t.Layout.partitions(ctx, g.raw, g.name, g.span)
	if err != nil {
		return 0, err
	}
	var total atomic.Int64
	for batch := range batches(groups) {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(dynamo.MaxParallel)
		for i, p := range batch {
			s := g.stream(p, len(batch), i)
			s.Input.Select = types.SelectCount
			group.Go(func() error {
				n, err := s.Count(ctx)
				total.Add(int64(n))
				return err
			})
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
