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
)

// reportTime is how long after a window's end, at most, all stream shards have reported
// it, as a rule.
const reportTime = 3 * time.Second

// recent returns what all stream shards have reported of the windows of a length that are
// not too old for an answer, the newest first. It is read once an invocation; when that
// fails, nothing is known.
func (r *run) recent(ctx context.Context, length time.Duration) []*loads {
	if r.reported != nil {
		return r.reported
	}
	r.reported = []*loads{}
	now := r.deps.Now()
	windows := make(map[time.Time][]heat.Item)
	err := r.readHeat(ctx, now.Add(-3*length), now.Add(length), func(item heat.Item) {
		if item.Window == length {
			windows[item.Start] = append(windows[item.Start], item)
		}
	})
	if err != nil {
		r.deps.Log.WarnContext(ctx, "other stream shards unknown", "error", err)
		return nil
	}
	for _, items := range windows {
		r.reported = append(r.reported, loadsOf(items))
	}
	slices.SortFunc(r.reported, func(a, b *loads) int { return b.start.Compare(a.start) })
	return r.reported
}

// heard tells whether all stream shards have reported a window by now, as a rule.
func (l *loads) heard(now time.Time) bool {
	return now.Sub(l.end) >= min(reportTime, l.end.Sub(l.start)/2)
}

// readHeat calls each, one call at a time, for all heat items of hotshard's own table, of
// the windows that start at from or later and before to.
func (h *Handler) readHeat(ctx context.Context, from, to time.Time, each func(heat.Item)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(heat.Salts)
	var mu sync.Mutex
	for _, pk := range heat.Partitions(from, to) {
		group.Go(func() error {
			return h.readHeatPartition(ctx, pk, from, to, func(item heat.Item) {
				mu.Lock()
				defer mu.Unlock()
				each(item)
			})
		})
	}
	return group.Wait()
}

func (h *Handler) readHeatPartition(ctx context.Context, pk string, from, to time.Time, each func(heat.Item)) error {
	low, high := heat.SortBounds(from, to)
	pages := dynamodb.NewQueryPaginator(h.deps.Heat, &dynamodb.QueryInput{
		TableName: &h.settings.HeatTable,
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
