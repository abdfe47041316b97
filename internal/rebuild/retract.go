package rebuild

import (
	"context"
	"time"

	"github.com/hotshard/hotshard/internal/fold/measures"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard"
)

// SettleDay proves that all earlier writes of an entity's events of a day, in these partitions, are
// folded. If it can't, it returns what is missing.
func (a *Checker) SettleDay(ctx context.Context, entity string, day time.Time, partitions []string) (missing string, err error) {
	proof, err := a.marker.Around(ctx, parts.Bucket{Entity: entity, Width: shard.Day, Start: day}, partitions)
	return proof.Missing, err
}

// retract empties a rollup whose events were deleted, all of which are folded: see [Checker.SettleDay].
// A rollup that has other events than the ones that were written meanwhile is left as it is.
//
// The rollup was read before the events. If there are none, all that it counts is gone: a counted event
// was written before the rollup was read. A later fold changes a fragment, which then isn't emptied, or
// it comes after that, fails its condition, and starts from zero.
func (b *bucket) retract(ctx context.Context, c *comparison, floors map[string]string) (Result, error) {
	if c.events.sum.Events > 0 && c.events.all().Events == c.rollup.Events {
		return Result{}, nil
	}
	result := c.finding()
	if c.events.sum.Events > 0 {
		return result, nil
	}
	_, err := b.store.Replace(ctx, b.Key(), c.read, measures.Part{}, 0, floors)
	result.Findings[0].Repaired = err == nil
	return result, err
}
