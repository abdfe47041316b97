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
	// Only the partition key of a stream marker names its board, and it may also be a longer name's.
	// Deleting another board's stream marker is harmless: its record is in the stream.
	if _, mark := schema.ParseMarker(k.sk); mark {
		_, _, _, ok := schema.ParseEntryKey(k.pk, b.base.Name)
		return Others, ok
	}
	if place, ok := strings.CutPrefix(k.pk, schema.ProbeSK+"#"); ok { // of the index
		board, _, _, err := schema.ParseBoardShardKey(place)
		return Others, err == nil && board == b.base.Name
	}
	return "", false
}

// cleanSummaries audits the board's current periods, and all others with a top or a histogram. First it waits until the
// aggregator has folded the deletes of their entries, because a fold may still create a period's summaries. It does
// not wait if this run has deleted no entries, and the board has no settings: then no earlier run was killed
// before it had cleaned them.
func (b leaderboard) cleanSummaries(ctx context.Context) error {
	settings, err := b.hasSettings(ctx)
	if err != nil {
		return err
	}
	if settings || b.report.Deleted[Entries] > 0 {
		period := parts.Period{Board: b.base.Name, Label: boards.AllTime.Label(b.o.Now())} // the proof covers all periods
		proof, err := b.prover.ProveEntries(ctx, period, nil)
		if proof.Missing != "" {
			b.left("its summaries may lack folds of the deletes: %s", proof.Missing)
			return err
		}
		if err != nil {
			return err
		}
	}
	now := b.o.Now()
	current, err := b.checker.Targets(b.base, Range{From: now, To: now.Add(1)})
	if err != nil {
		return err
	}
	return b.auditSummaries(ctx, b.checker.Stored(b.base, current...))
}

// deleteLast deletes the board's settings, unless scores were kept: scores depend on the settings.
func (b leaderboard) deleteLast(ctx context.Context) error {
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
