package fold

import (
	"context"
	"errors"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// mergeable is a summary that has a fragment for each stream shard.
type mergeable interface {
	Key() parts.Key
	// merge merges its resting fragments into the merged one.
	merge(context.Context, *compaction) error
}

// rollup is an event rollup; histogram is the histogram of a board's period.
type (
	rollup    struct{ parts.Bucket }
	histogram struct{ parts.Period }
)

func (b rollup) merge(ctx context.Context, r *compaction) error {
	return merge(ctx, r, r.events, b, &r.answer.Buckets, func(chosen []parts.Part[parts.Rollup]) int64 {
		return b.Expiry(chosen, r.retention, r.now)
	})
}

func (p histogram) merge(ctx context.Context, r *compaction) error {
	return merge(ctx, r, r.cells, p, &r.answer.Boards, func(chosen []parts.Part[parts.Histogram]) int64 {
		expires, _ := parts.LatestExpiry(chosen, r.now)
		return expires
	})
}

// mergeableOf returns a fragment's summary and stream shard; ok is false for other items.
func mergeableOf(pk, sk string) (summary mergeable, streamShard string, ok bool) {
	k, _, _ := schema.CutKind(pk)
	if parse := fragmented[schema.TraitsOf(k).Summary]; parse != nil {
		return parse(pk, sk)
	}
	return nil, "", false
}

// fragmented has the parsers of keys of summaries that have a fragment for each stream shard.
var fragmented = map[schema.Summary]func(pk, sk string) (summary mergeable, streamShard string, ok bool){
	schema.PartialSummary: nil, // has no fragments
	schema.RollupSummary: func(pk, sk string) (mergeable, string, bool) {
		b, streamShard, ok := parts.BucketOf(pk, sk)
		return rollup{b}, streamShard, ok
	},
	schema.RankingSummary: func(pk, sk string) (mergeable, string, bool) {
		p, streamShard, ok := parts.PeriodOf(pk, sk)
		return histogram{p}, streamShard, ok
	},
}

// merge merges a summary's resting fragments in successive transactions, and increments mergedSummaries if it merged
// any. expires returns the expiry of the merged fragment. If a fold or the end of the run interrupts the merge, a later
// run merges the rest. merge leaves damaged fragments as they are, and returns an error that names them.
func merge[V any](ctx context.Context, r *compaction, store *parts.Store[V], summary mergeable, mergedSummaries *int, expires func([]parts.Part[V]) int64) error {
	key := summary.Key()
	read, err := store.Read(ctx, key)
	if err != nil {
		return err
	}
	rests := func(p parts.Part[V]) bool { return !p.AsOf.IsZero() && r.rests(p.AsOf) }
	for first := true; ; first = false {
		chosen := store.Choose(read, rests)
		if len(chosen) == 0 {
			return parts.Damage(read)
		}
		left, done, err := store.Merge(ctx, key, read, chosen, expires(chosen))
		switch {
		case errors.Is(err, parts.ErrMoved):
			return nil
		case dynamo.IsRejected(err): // the item is too large, or a number has too many digits
			r.log.WarnContext(ctx, "fragments not merged: DynamoDB can't store their sum as one item", "summary", key.Target, "error", err)
			return nil
		case err != nil:
			return err
		}
		read = left
		r.answer.Merged += done.Emptied
		if first {
			*mergedSummaries++
		}
		if !r.paceWrites(ctx, done.WriteUnits) {
			r.outOfTime = true
			return nil
		}
	}
}

// rests reports whether the last fold of a fragment was long enough ago to merge it.
func (r *compaction) rests(asOf time.Time) bool { return r.now.Sub(asOf) > r.rest }

// paceWrites waits until consumed write units fit the rate. It returns false, without waiting, if the run ends before that.
func (r *compaction) paceWrites(ctx context.Context, units float64) bool {
	d := time.Duration(units / float64(r.writeUnits) * float64(time.Second))
	return time.Now().Add(d).Before(r.end) && dynamo.WaitFor(ctx, d) == nil
}
