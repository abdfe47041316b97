package rebuild

import (
	"context"

	"github.com/hotshard/hotshard/internal/base/schema"
)

// auditSummaries checks the source's summaries, empties those without items, and adds the outcomes to the report.
func (t *task) auditSummaries(ctx context.Context, source Source) error {
	_, err := t.checker.Run(ctx, source, func(target schema.Target, r Result) {
		t.options.Progress(1)
		t.reportAudit(target, r)
	})
	return err
}

// reportAudit adds the outcome of a summary to the report. It ignores that a board with entries is Open or Busy: a board
// that always gets scores can't be compared. But the deletes are folded, and no deleted player is in its top.
func (t *task) reportAudit(target schema.Target, result Result) {
	if result.Items > 0 {
		t.reportKept("%s of %s, written meanwhile: %d", itemsOf(target), target, result.Items)
	}
	isBoardInUse := target.Period != "" && result.Items > 0
	for _, f := range result.Findings {
		changes := f.State == Open || f.State == Busy
		switch {
		case f.Repaired && result.Items == 0:
			t.countDeleted(Summaries, 1)
		case f.Repaired, isBoardInUse && changes:
		default:
			t.reportLeft("the summary %q: %s: %s", target, f.State, f.Detail)
		}
	}
}

// itemsOf returns the kind of the items that a summary sums up, which is of a board's period or of a counter.
func itemsOf(t schema.Target) Trace {
	if t.Period != "" {
		return Entries
	}
	return WriteShards
}
