package rebuild

import (
	"context"
	"strings"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// boardTraces finds and deletes the items of a board.
type boardTraces struct{ plainTraces }

func (b boardTraces) classify(k itemKey) (what Trace, ok bool) {
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

// cleanSummaries audits the board's current periods, and all periods with a top or a histogram. First it waits until the
// aggregator has folded the deletes of entries, because a fold may still create a period's summaries. It need not wait if
// this run has deleted no entries, and the board has no settings: an earlier run deletes the settings last.
func (b boardTraces) cleanSummaries(ctx context.Context) error {
	settings, err := b.hasSettings(ctx)
	if err != nil {
		return err
	}
	if settings || b.report.Deleted[Entries] > 0 {
		period := parts.Period{Board: b.base.Name, Label: boards.AllTime.Label(b.o.Now())} // the proof covers all periods
		proof, err := b.prover.ProveEntries(ctx, period, nil)
		if proof.Missing != "" {
			b.reportLeft("its summaries may lack folds of the deletes: %s", proof.Missing)
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
func (b boardTraces) deleteLast(ctx context.Context) error {
	exist, err := b.hasSettings(ctx)
	switch {
	case err != nil || !exist:
		return err
	case len(b.report.Kept) > 0:
		b.reportKept("its settings, because scores were written meanwhile")
		return nil
	}
	pk, sk := schema.SettingsKey(b.base.Name)
	old, err := b.remove(ctx, b.o.Names.Items, itemKey{pk, sk})
	if len(old) > 0 {
		b.countDeleted(Settings, 1)
	}
	return err
}

// hasSettings reports whether the board has settings: its first score creates them.
func (b boardTraces) hasSettings(ctx context.Context) (exist bool, err error) {
	pk, sk := schema.SettingsKey(b.base.Name)
	settings, err := dynamo.Get(ctx, b.client, b.o.Names.Items, pk, sk)
	return len(settings) > 0, err
}
