package erase

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/rollup/attribute"
	"github.com/hotshard/hotshard/internal/schema"
)

// maxPeriods bounds the periods whose summaries are cleared at a time.
const maxPeriods = 8

// clearBoard takes the tops and histograms of all the board's periods out of the
// rollups table, once the aggregator has folded that their entries are gone.
func (t *task) clearBoard(ctx context.Context) error {
	periods, err := t.periods(ctx)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxPeriods)
	for period := range periods {
		group.Go(func() error { return t.clearPeriod(ctx, period) })
	}
	return group.Wait()
}

// periods are those that have summaries, and those that hold now.
func (t *task) periods(ctx context.Context) (map[string]bool, error) {
	periods := map[string]bool{}
	for _, p := range kinds {
		periods[p.Label(t.o.Now())] = true
	}
	var mu sync.Mutex
	err := t.scanRollups(ctx, func(it item) {
		target, err := schema.ParseTarget(attribute.TextOf(it, schema.PK))
		if err == nil && target.Base == t.base {
			mu.Lock()
			defer mu.Unlock()
			periods[target.Period] = true
		}
	})
	return periods, err
}

func (t *task) clearPeriod(ctx context.Context, period string) error {
	c, err := t.auditor.Clear(ctx, t.base.Name, period, t.swept)
	if err != nil {
		return err
	}
	t.deleted(Summaries, c.Summaries)
	what := fmt.Sprintf("%d entries of period %s, written meanwhile", c.Kept, period)
	switch {
	case c.Left != "":
		t.left("the summaries of period %s: %s", period, c.Left)
	case c.Unsure != "":
		t.kept("%s; whether ranks count others, too, is not known (%s): hotshard audit --repair --type board --name %q, while it is quiet", what, c.Unsure, t.base.Name)
	case c.Kept > 0:
		t.kept("%s", what)
	}
	return nil
}

// dropSettings deletes the board's settings, if nothing is left of it: scores that
// come go by them.
func (t *task) dropSettings(ctx context.Context) error {
	pk, sk := schema.SettingsKey(t.base.Name)
	if len(t.report.Kept) > 0 {
		return t.batchGet(ctx, t.o.Names.Items, []item{attribute.Key(pk, sk)}, nil, func(item) { t.kept("its settings, by which it is written") })
	}
	old, err := t.remove(ctx, t.o.Names.Items, pk, sk)
	if len(old) > 0 {
		t.deleted(Settings, 1)
	}
	return err
}
