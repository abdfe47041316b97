package rebuild

import (
	"context"
	"strings"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// leaderboard has a board's traces.
type leaderboard struct{ plain }

func (b leaderboard) classify(k itemKey) (what Trace, ok bool) {
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

// settle audits the board's current periods, and all others with a top or a histogram, after the
// aggregator has folded the deletes of their entries. Before that, a fold may still create a period's
// summaries. If this run has deleted no entries, and no settings show that an earlier run may have, it
// does not wait.
func (b leaderboard) settle(ctx context.Context) error {
	settings, err := b.hasSettings(ctx)
	if err != nil {
		return err
	}
	if settings || b.report.Deleted[Entries] > 0 {
		period := parts.Period{Board: b.base.Name, Label: boards.AllTime.Label(b.o.Now())} // the proof covers all periods
		proof, err := b.prover.Beside(ctx, period, nil)
		if proof.Missing != "" {
			b.left("its summaries: whether all is folded is not known: %s", proof.Missing)
		}
		if proof.Missing != "" || err != nil {
			return err
		}
	}
	now := b.o.Now()
	current, err := b.checker.Targets(b.base, Range{From: now, To: now.Add(1)})
	if err != nil {
		return err
	}
	return b.audit(ctx, b.checker.Stored(b.base, current...))
}

// last deletes the board's settings, unless scores were kept: these depend on them.
func (b leaderboard) last(ctx context.Context) error {
	there, err := b.hasSettings(ctx)
	switch {
	case err != nil || !there:
		return err
	case len(b.report.Kept) > 0:
		b.kept("its settings, because scores were written meanwhile")
		return nil
	}
	pk, sk := schema.SettingsKey(b.base.Name)
	old, err := b.remove(ctx, b.o.Names.Items, itemKey{pk, sk})
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
