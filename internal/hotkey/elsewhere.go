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
	"github.com/hotshard/hotshard/pkg/shard/ddb"
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

// lookElsewhere enters what other stream shards know of a key's write shards. They
// have yet to report this window, mostly, and what they reported of earlier ones is
// not of this one. So a write shard without figures is unknown, and not cold: one
// that writers choose at random is like the hottest; of others, the newest window
// before this one in which the key was hot tells.
func (r *run) lookElsewhere(ctx context.Context, w *window, s *suspect, entry ddb.Entry, streamShard string) {
	items := r.reported(ctx, w)
	count := entry.History.Newest()
	s.join(slices.DeleteFunc(slices.Clone(items), func(item heat.Item) bool {
		return item.StreamShard == streamShard || !item.Start.Equal(w.start) || item.Window != w.length
	}), count)
	unknown := count - s.seen(count)
	switch {
	case unknown == 0:
	case heat.Share(s.Base.Type) == shard.RandomShare:
		if r.settings.policy().hot(s.Evidence, count) {
			s.Unknown = unknown
		}
	default:
		r.lookBefore(w, s, entry, items, unknown)
	}
}

// reportTime is how long after a window's end, at most, all stream shards have reported
// it, as a rule.
const reportTime = 3 * time.Second

// lookBefore has the newest window before this one in which the key was hot, on several
// write shards, tell what the unknown ones take. Without one there is no telling yet.
func (r *run) lookBefore(w *window, s *suspect, entry ddb.Entry, items []heat.Item, unknown int) {
	policy := r.settings.policy()
	for back := range time.Duration(2) {
		before := s.before(items, w.start.Add(-(back+1)*w.length), w.length)
		n := entry.History.At(before.Start)
		if n == 1 || !policy.hot(before, n) {
			continue
		}
		if !policy.skewed(before, n) {
			s.Unknown = unknown
			return
		}
		s.Skewed = back > 0 || r.deps.Now().Sub(w.start) >= min(reportTime, w.length/2)
		s.Unheard = !s.Skewed
		return
	}
	s.Unheard = true
}

// seen counts the write shards, of count, with figures.
func (s *suspect) seen(count int) (n int) {
	for i := range s.Shards {
		if i < count {
			n++
		}
	}
	return n
}

// before is what all stream shards reported of an earlier window.
func (s *suspect) before(items []heat.Item, start time.Time, length time.Duration) Evidence {
	e := Evidence{Base: s.Base, Start: start, End: start.Add(length)}
	var same []heat.Item
	for _, item := range items {
		if item.Start.Equal(start) && item.Window == length {
			same = append(same, item)
			e.Rest += float64(item.Rest) / length.Seconds()
		}
	}
	e.Shards = s.loads(same)
	return e
}

// loads are those of the key's write shards in some items.
func (s *suspect) loads(items []heat.Item) map[int]Load {
	found := make(map[int]Load)
	for _, row := range heat.Merge(items) {
		name, n, err := shard.Hash.Split(row.Key)
		if err == nil && name == s.name && row.Index == "" {
			rate := row.WriteUnitsPerSecond
			found[n] = Load{Low: rate, High: rate + row.Error, Peak: float64(row.Peak), PeakAt: row.PeakAt}
		}
	}
	return found
}

// join adds the write shards, of count, that other stream shards have seen.
func (s *suspect) join(items []heat.Item, count int) {
	for n, load := range s.loads(items) {
		if own, ok := s.Shards[n]; n < count && (!ok || own.Low < load.Low) {
			s.Shards[n] = load
		}
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
