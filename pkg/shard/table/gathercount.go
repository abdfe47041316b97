package table

import (
	"context"
	"iter"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard/internal/place"
)

// count returns the number of items in the range. If look-ups find single items, an item on two
// write shards counts once.
func (g *gather) count(ctx context.Context) (n int, err error) {
	if g.span.empty() {
		return 0, nil
	}
	g.readCurrent()
	groups, err := g.groups(ctx)
	if err != nil {
		return 0, err
	}
	for batch := range batches(groups) {
		count := g.countEach
		if g.findable() && len(batch) > 1 {
			count = g.countOnce
		}
		more, err := count(ctx, batch)
		if err != nil {
			return 0, err
		}
		n += more
	}
	return n, nil
}

// countEach adds up the items of the partitions by COUNT queries.
func (g *gather) countEach(ctx context.Context, batch []partition) (int, error) {
	var total atomic.Int64
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
	err := group.Wait()
	return int(total.Load()), err
}

// countOnce merges the items' keys, so an item on two of the partitions counts once.
func (g *gather) countOnce(ctx context.Context, batch []partition) (int, error) {
	keys := *g
	keys.keys = true
	return g.countAll(func(yield func(place.Stored, error) bool) { keys.merge(ctx, batch, yield) })
}

func (g *gather) countAll(items iter.Seq2[place.Stored, error]) (n int, err error) {
	for _, err := range items {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}
