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
// rollups table, once the aggregator has folded that their entries are gone. Before that
// a period may have none yet, which come later.
func (t *task) clearBoard(ctx context.Context) error {
	if settled, err := t.settled(ctx); err != nil || !settled {
		return err
	}
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

// settled proves that the removal of the board's entries is folded. Where this run has
// deleted none, and no settings say that one before may have, there is nothing to prove.
func (t *task) settled(ctx context.Context) (bool, error) {
	settings, err := t.hasSettings(ctx)
	if err != nil || !settings && t.report.Deleted[Entries] == 0 {
		return err == nil, err
	}
	why, err := t.auditor.Settle(ctx, t.base.Name)
	if why != "" {
		t.left("its summaries: whether all is folded is not known: %s", why)
	}
	return why == "", err
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
	if len(t.report.Kept) > 0 {
		there, err := t.hasSettings(ctx)
		if there {
			t.kept("its settings, by which it is written")
		}
		return err
	}
	pk, sk := schema.SettingsKey(t.base.Name)
	old, err := t.remove(ctx, t.o.Names.Items, pk, sk)
	if len(old) > 0 {
		t.deleted(Settings, 1)
	}
	return err
}

// hasSettings tells whether the board has settings: its first score makes them.
func (t *task) hasSettings(ctx context.Context) (there bool, err error) {
	key := attribute.Key(schema.SettingsKey(t.base.Name))
	err = t.batchGet(ctx, t.o.Names.Items, []item{key}, nil, func(item) { there = true })
	return there, err
}
