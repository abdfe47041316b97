package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/hotshard/hotshard/internal/rollup/compact"
)

const (
	compactTime  = 3 * time.Second // between two compactions, at most
	compactRest  = 49 * time.Hour  // after which parts of rollups are at rest
	compactRound = 25 * time.Hour  // after which the table is gone through again
)

// compacting has a clock that is days ahead, and further each time, merge the parts
// of event rollups until ctx ends: nothing of that needs parts to be at rest. The
// tombstones of counters do need the time, and are left.
func (r *rig) compacting(ctx context.Context) error {
	for ahead := compactRest; ; ahead += compactRound {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Duration(r.faults.intN(int(compactTime)))):
		}
		if r.auditing.Load() && r.faults.intN(seldom) > 0 {
			continue
		}
		if err := r.compact(ctx, ahead); err != nil {
			return err
		}
	}
}

// compact makes one run of a process that may die in it. What fails is left to the
// next one.
func (r *rig) compact(ctx context.Context, ahead time.Duration) error {
	life := newLife()
	c := &client{Client: r.db, faults: r.faults, chances: foldChances, who: "compaction", life: life, applied: func() {}}
	options := compact.Options{RollupsTable: r.names.Rollups, ReadUnits: 1_000_000, WriteUnits: 1_000_000}
	compactor, err := compact.New(options, c, slog.New(slog.DiscardHandler), func() time.Time { return time.Now().Add(ahead) })
	if err != nil {
		return err
	}
	ctx, done := life.within(ctx)
	defer done()
	answer, _ := compactor.Run(ctx)
	r.merged.Add(int64(answer.Merged))
	r.faults.count(compacted)
	return nil
}
