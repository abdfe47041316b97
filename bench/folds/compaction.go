package folds

import (
	"context"
	"time"

	"github.com/hotshard/hotshard/bench/rig"
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
func (r *system) compacting(ctx context.Context) error {
	for ahead := compactRest; ; ahead += compactRound {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Duration(r.dice.intN(int(compactTime)))):
		}
		if r.auditing.Load() && r.dice.intN(seldom) > 0 {
			continue
		}
		if err := r.compact(ctx, ahead); err != nil {
			return err
		}
	}
}

// compact makes one run of a process that may die in it. What fails is left to the
// next one.
func (r *system) compact(ctx context.Context, ahead time.Duration) error {
	life := newLife()
	c := &client{Client: r.DB, dice: r.dice, chances: foldChances, who: "compaction", life: life, applied: func() {}}
	options := compact.Options{RollupsTable: r.Names.Rollups, ReadUnits: 1_000_000, WriteUnits: 1_000_000}
	compactor, err := compact.New(options, c, rig.Silent, func() time.Time { return time.Now().Add(ahead) })
	if err != nil {
		return err
	}
	ctx, done := life.within(ctx)
	defer done()
	answer, _ := compactor.Run(ctx)
	r.count(merged, answer.Merged)
	r.dice.count(compacted)
	return nil
}
