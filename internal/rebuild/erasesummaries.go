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
// that is played all the time can't be compared, but the deletes are folded, and its top has no deleted player.
func (t *task) reportAudit(target schema.Target, result Result) {
	if result.Items > 0 {
		t.kept("%s of %s, written meanwhile: %d", itemsOf(target), target, result.Items)
	}
	for _, f := range result.Findings {
		switch {
		case f.Repaired && result.Items == 0:
			t.deleted(Summaries, 1)
		case f.Repaired:
		case result.Items > 0 && target.Period != "" && (f.State == Open || f.State == Busy):
		default:
			t.left("the summary %q: %s: %s", target, f.State, f.Detail)
		}
	}
}

// itemsOf returns what a summary sums up.
func itemsOf(t schema.Target) Trace {
	if t.Period != "" {
		return Entries
	}
	return WriteShards
}
