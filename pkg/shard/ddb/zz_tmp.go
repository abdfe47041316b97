package ddb

import (
	"context"
	"time"
)

func (c *MapChanger) GrowFrom(ctx context.Context, seen Entry, count int, note Note, now time.Time) (Entry, error) {
	return c.Grow(ctx, seen.Key, count, note, now)
}
func (m *Map) Partitions(time.Time) int                                     { return 4 }
func (c *MapChanger) NotePartitions(context.Context, int, time.Time) error { return nil }
