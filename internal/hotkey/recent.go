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
	windows, lost := make(map[time.Time][]heat.Item), make(map[time.Time]bool)
	err := r.readHeat(ctx, now.Add(-3*length), now.Add(length), func(item heat.Item) {
		if item.Window == length {
			windows[item.Start] = append(windows[item.Start], item)
		}
	}, func(start time.Time) { lost[start] = true })
	if err != nil {
		r.deps.Log.WarnContext(ctx, "other stream shards unknown", "error", err)
		return nil
	}
	for start, items := range windows {
		l := loadsOf(items)
		l.lost = lost[start]
		r.reported = append(r.reported, l)
	}
	slices.SortFunc(r.reported, func(a, b *loads) int { return b.start.Compare(a.start) })
	return r.reported
}

// heard tells whether all stream shards have reported a window by now, as a rule, and what
// they reported can be read.
func (l *loads) heard(now time.Time) bool {
	return !l.lost && now.Sub(l.end) >= min(reportTime, l.end.Sub(l.start)/2)
}

// readHeat calls each, one call at a time, for all heat items of hotshard's own table, of
// the windows that start at from or later and before to. An item that can't be read, of
// another release or damaged, holds up nothing: it is logged, and lost is called with its
// window's start, or with to where that isn't known either.
func (h *Handler) readHeat(ctx context.Context, from, to time.Time, each func(heat.Item), lost func(start time.Time)) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(heat.Salts)
	var mu sync.Mutex
	for _, pk := range heat.Partitions(from, to) {
		group.Go(func() error {
			return h.readHeatPartition(groupCtx, pk, from, to, func(attributes map[string]types.AttributeValue) {
				item, err := heat.Parse(attributes)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err != nil:
					h.sayUnreadable(ctx, pk, err)
					start, ok := heat.Start(attributes)
					if !ok {
						start = to
					}
					lost(start)
				case item.Table == "": // else it is of keys that only look like hotshard's
					each(item)
				}
			})
		})
	}
	return group.Wait()
}

// sayUnreadable logs, once, that an item of the heat table can't be read. The error names
// its sort key.
func (h *Handler) sayUnreadable(ctx context.Context, pk string, err error) {
	if h.once.first("unreadable "+pk+" "+err.Error(), "said") {
		h.deps.Log.ErrorContext(ctx, "heat item not readable, so its time proves nothing", "partition", pk, "error", err)
	}
}

func (h *Handler) readHeatPartition(ctx context.Context, pk string, from, to time.Time, each func(map[string]types.AttributeValue)) error {
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
			each(attributes)
		}
	}
	return nil
}
