package rollup

import (
	"context"
	"time"

	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/rollup/measures"
	"github.com/hotshard/hotshard/internal/rollup/parts"
)

// eventFolder folds events into the parts of their rollups.
type eventFolder struct {
	*parts.Folder[measures.Part]
	retention time.Duration // 0 is for ever
	now       func() time.Time
}

func newEventFolder(client Client, settings Settings, now func() time.Time) *eventFolder {
	store := parts.NewEvents(client, settings.RollupsTable, now)
	return &eventFolder{store.Folder(client), settings.RollupRetention, now}
}

// fold adds the records of a bucket that its part does not have yet.
func (f *eventFolder) fold(ctx context.Context, b *bucket) error {
	return f.Fold(ctx, b.Key(), b.streamShard, f.expiry(b.End()), b.records)
}

// expiry is the retention after the bucket's end or this fold, zero for never: a
// record can come again for a day after it was folded, and must find the part.
func (f *eventFolder) expiry(end time.Time) time.Time {
	if f.retention == 0 {
		return time.Time{}
	}
	if now := f.now(); now.After(end) {
		end = now
	}
	return end.Add(f.retention)
}

// cellsFolder folds entries' scores into the parts of their boards' histograms. An
// entry that comes, goes or moves is one record, so the guard is that of event
// rollups. Once all records were folded, the parts together count each entry once.
type cellsFolder struct {
	*parts.Folder[board.Histogram]
	limit int // cells of a part
}

func newCellsFolder(client Client, settings Settings, now func() time.Time) *cellsFolder {
	return &cellsFolder{parts.NewHistograms(client, settings.RollupsTable, now).Folder(client), board.MaxCells}
}

func (f *cellsFolder) fold(ctx context.Context, s *boardNews, streamShard string) error {
	records := make([]parts.Record[board.Histogram], len(s.turns))
	for i, t := range s.turns {
		records[i] = parts.Record[board.Histogram]{Sequence: t.place, Apply: func(h *board.Histogram) {
			if t.from != nil {
				h.AddScore(*t.from, -1)
			}
			if t.to != nil {
				h.AddScore(*t.to, 1)
			}
			h.Limit(f.limit)
		}}
	}
	return f.Fold(ctx, s.Key(), streamShard, s.lifetime.end, records)
}
