package erase

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/audit"
)

// leaderboard has a board's traces.
type leaderboard struct{ plain }

func (b leaderboard) match(k key) (what What, ok bool) {
	if board, _, _, ok := schema.ParseEntryKey(k.pk, k.sk); ok {
		return Entries, board == b.base.Name
	}
	// Only the partition key of a stream marker names its board. It may be that of a board with a
	// longer name. Deleting that one is harmless: its record is in the stream.
	if _, mark := schema.ParseMark(k.sk); mark {
		_, _, _, ok := schema.ParseEntryKey(k.pk, b.base.Name)
		return Others, ok
	}
	if place, ok := strings.CutPrefix(k.pk, schema.ProbeSK+"#"); ok { // of the index
		board, _, _, err := schema.ParseBoardShardKey(place)
		return Others, err == nil && board == b.base.Name
	}
	return "", false
}

// maxPeriods bounds the periods whose summaries are cleared at a time.
const maxPeriods = 8

// summaries clears the tops and histograms of all the board's periods, after the aggregator has folded
// the deletes of their entries. Before that, a fold may still create a period's summaries. If this run
// has deleted no entries, and no settings show that an earlier run may have, it does not wait.
func (b leaderboard) summaries(ctx context.Context, _ int) error {
	settings, err := b.hasSettings(ctx)
	if err != nil {
		return err
	}
	if settings || b.report.Deleted[Entries] > 0 {
		missing, err := b.auditor.Settle(ctx, b.base.Name)
		if missing != "" {
			b.left("its summaries: whether all is folded is not known: %s", missing)
		}
		if missing != "" || err != nil {
			return err
		}
	}
	now := b.o.Now()
	current, err := b.auditor.Targets(b.base, audit.Range{From: now, To: now.Add(1)})
	if err != nil {
		return err
	}
	periods := map[string]bool{}
	for _, t := range current {
		periods[t.Period] = true
	}
	err = b.eachSummary(ctx, func(t schema.Target) { periods[t.Period] = true })
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxPeriods)
	for period := range periods {
		group.Go(func() error { return b.clear(ctx, period) })
	}
	return group.Wait()
}

func (b leaderboard) clear(ctx context.Context, period string) error {
	c, err := b.auditor.Clear(ctx, b.base.Name, period, b.swept)
	if err != nil {
		return err
	}
	b.deleted(Summaries, c.Summaries)
	what := fmt.Sprintf("%d entries of period %s, written meanwhile", c.Kept, period)
	switch {
	case c.Left != "":
		b.left("the summaries of period %s: %s", period, c.Left)
	case c.Unsure != "":
		b.kept("%s; whether ranks count others, too, is not known (%s): hotshard audit --repair --type board --name %q, while it is quiet", what, c.Unsure, b.base.Name)
	case c.Kept > 0:
		b.kept("%s", what)
	}
	return nil
}

// last deletes the board's settings, unless scores were kept: these depend on them.
func (b leaderboard) last(ctx context.Context) error {
	there, err := b.hasSettings(ctx)
	switch {
	case err != nil || !there:
		return err
	case len(b.report.Kept) > 0:
		b.kept("its settings, by which it is written")
		return nil
	case b.o.DryRun:
		b.deleted(Settings, 1)
		return nil
	}
	pk, sk := schema.SettingsKey(b.base.Name)
	old, err := b.remove(ctx, b.o.Names.Items, key{pk, sk})
	if len(old) > 0 {
		b.deleted(Settings, 1)
	}
	return err
}

// hasSettings reports whether the board has settings: its first score creates them.
func (b leaderboard) hasSettings(ctx context.Context) (there bool, err error) {
	pk, sk := schema.SettingsKey(b.base.Name)
	settings, err := dynamo.Get(ctx, b.client, b.o.Names.Items, pk, sk)
	return len(settings) > 0, err
}
