package compact

import (
	"context"
	"errors"
	"time"

	"github.com/aws/smithy-go"

	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/rollup/measures"
	"github.com/hotshard/hotshard/internal/rollup/parts"
	"github.com/hotshard/hotshard/internal/rollup/scan"
)

// summary is one that has a part for each stream shard.
type summary interface {
	Key() parts.Key
	// merge brings what its resting parts hold into its merged part.
	merge(context.Context, *run) error
}

// rollup is an event rollup, and histogram that of a board's period.
type (
	rollup    struct{ parts.Bucket }
	histogram struct{ parts.Period }
)

func (b rollup) merge(ctx context.Context, r *run) error {
	return merge(ctx, r, r.events, b.Key(), &r.answer.Buckets, func(chosen []parts.Part[measures.Part]) int64 {
		return b.Expiry(chosen, r.options.Retention, r.now)
	})
}

func (p histogram) merge(ctx context.Context, r *run) error {
	return merge(ctx, r, r.cells, p.Key(), &r.answer.Boards, func(chosen []parts.Part[board.Histogram]) int64 {
		expires, _ := parts.Last(chosen, r.now)
		return expires
	})
}

// summaryOf returns the summary that an item is a part of; ok is false for other items.
func summaryOf(pk, sk string) (of summary, streamShard string, ok bool) {
	p, streamShard, ok := parts.PeriodOf(pk, sk)
	if ok {
		return histogram{p}, streamShard, true
	}
	b, streamShard, ok := parts.BucketOf(pk, sk)
	return rollup{b}, streamShard, ok
}

// merge merges a summary's parts, from one reading, by one transaction after another until
// nothing is left to merge, and counts the summary if there was something. One into which
// something is folded meanwhile is left for the next round; one of which the run's end
// left something, for the next run. Damaged parts stay as they are.
func merge[V any](ctx context.Context, r *run, store *parts.Store[V], key parts.Key, count *int, expires func([]parts.Part[V]) int64) error {
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
		case refused(err):
			r.log.WarnContext(ctx, "its parts stay: what they come to can't be stored as one", "summary", key.Target, "error", err)
			return nil
		case err != nil:
			return err
		}
		read = left
		r.answer.Merged += done.Emptied
		if first {
			*count++
		}
		if !r.spend(ctx, done.WriteUnits) {
			r.late = true
			return nil
		}
	}
}

// rests tells whether the last fold was long ago.
func (r *run) rests(asOf time.Time) bool { return r.now.Sub(asOf) > rest }

// refused tells whether DynamoDB never takes what was to be stored: an item that is
// too large, or a number with too many digits.
func refused(err error) bool {
	answer, ok := errors.AsType[smithy.APIError](err)
	return ok && answer.ErrorCode() == "ValidationException"
}

// spend waits for as long as write units are to last; false if the run is to end
// before that.
func (r *run) spend(ctx context.Context, units float64) bool {
	d := time.Duration(units / float64(r.options.WriteUnits) * float64(time.Second))
	return time.Now().Add(d).Before(r.end) && scan.Wait(ctx, d) == nil
}
