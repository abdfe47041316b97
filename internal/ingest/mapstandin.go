package ingest

import (
	"context"
	"time"

	"github.com/hotshard/hotshard/internal/growth"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// changed is the shard map as a grower needs it.
type changed struct{ *ddb.MapChanger }

func (c changed) Refresh(ctx context.Context, key string, now time.Time) (ddb.Entry, error) {
	return c.Read(ctx, key)
}

func (c changed) GrowFrom(ctx context.Context, seen ddb.Entry, count int, note ddb.Note, now time.Time) (ddb.Entry, error) {
	return c.Grow(ctx, seen.Key, count, note, now)
}

func (changed) Partitions(time.Time) int { return growth.Partitions }
