package rebuild

import (
	"context"

	"github.com/hotshard/hotshard/internal/base/schema"
)

// audit audits summaries, which empties those whose items are gone.
func (t *task) audit(ctx context.Context, source Source) error {
	_, err := t.checker.Run(ctx, source, func(target schema.Target, r Result) {
		t.options.Progress(1)
		t.audited(target, r)
	})
	return err
}

// audited adds the outcome of a summary to the report. A board that is played all the time can't be compared with its
// entries. The deletes are folded, and its top has no deleted player.
func (t *task) audited(target schema.Target, r Result) {
	if r.Items > 0 {
		t.kept("%s of %s, written meanwhile: %d", itemsOf(target), target, r.Items)
	}
	for _, f := range r.Findings {
		switch {
		case f.Repaired && r.Items == 0:
			t.deleted(Summaries, 1)
		case f.Repaired:
		case r.Items > 0 && target.Period != "" && (f.State == Open || f.State == Busy):
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
