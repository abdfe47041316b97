package hotkey

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/pkg/shard"
)

// reported returns what all stream shards have reported of this window and the two
// before it. It is read once an invocation; when that fails, nothing is known.
func (r *run) reported(ctx context.Context, w *window) []heat.Item {
	if r.recent != nil {
		return r.recent
	}
	r.recent = []heat.Item{}
	var mu sync.Mutex
	err := r.readHeat(ctx, w.start.Add(-2*w.length), w.start.Add(w.length), func(item heat.Item) {
		mu.Lock()
		defer mu.Unlock()
		r.recent = append(r.recent, item)
	})
	if err != nil {
		r.deps.Log.WarnContext(ctx, "other stream shards unknown", "error", err)
		r.recent = []heat.Item{}
	}
	return r.recent
}

// elsewhere returns what other stream shards have reported.
func (r *run) elsewhere(ctx context.Context, w *window, streamShard string) []heat.Item {
	return slices.DeleteFunc(slices.Clone(r.reported(ctx, w)), func(item heat.Item) bool {
		return item.StreamShard == streamShard
	})
}

// join adds the write shards, of count, that other stream shards have seen.
func (s *suspect) join(items []heat.Item, count int) {
	for _, row := range heat.Merge(items) {
		name, n, err := shard.Hash.Split(row.Key)
		if err != nil || name != s.name || n >= count || row.Index != "" {
			continue
		}
		load := s.Shards[n]
		load.Low = max(load.Low, row.WriteUnitsPerSecond)
		load.High = max(load.High, row.WriteUnitsPerSecond+row.Error)
		load.Peak = max(load.Peak, float64(row.Peak))
		s.Shards[n] = load
	}
}

// readHeat calls each for all heat items of hotshard's own table, of the windows that
// start at from or later and before to, from several goroutines at a time.
func (h *Handler) readHeat(ctx context.Context, from, to time.Time, each func(heat.Item)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(heat.Salts)
	for _, pk := range heat.Partitions(from, to) {
		group.Go(func() error { return h.readHeatPartition(ctx, pk, from, to, each) })
	}
	return group.Wait()
}

func (h *Handler) readHeatPartition(ctx context.Context, pk string, from, to time.Time, each func(heat.Item)) error {
	low, high := heat.SortBounds(from, to)
	pages := dynamodb.NewQueryPaginator(h.deps.Rollups, &dynamodb.QueryInput{
		TableName: &h.settings.RollupsTable,
		// What is being proved by these items must not hang on one that is not visible yet.
		ConsistentRead:         aws.Bool(true),
		KeyConditionExpression: aws.String("pk = :pk AND sk BETWEEN :low AND :high"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":pk":   &types.AttributeValueMemberS{Value: pk},
			":low":  &types.AttributeValueMemberS{Value: low},
			":high": &types.AttributeValueMemberS{Value: high},
		},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("hotkey: reading heat items of %q: %w", pk, err)
		}
		for _, attributes := range page.Items {
			item, err := heat.Parse(attributes)
			if err != nil {
				return fmt.Errorf("hotkey: %w", err)
			}
			if item.Table == "" { // else it is of keys that only look like hotshard's
				each(item)
			}
		}
	}
	return nil
}
