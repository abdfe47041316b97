package erase

import (
	"context"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/rebuild"
)

// emptySummaries audits the key's summaries, which empties those whose items are gone.
func (t *task) emptySummaries(ctx context.Context) error {
	source, err := t.traces.summaries(ctx)
	if err != nil || t.again {
		return err
	}
	_, err = t.auditor.Run(ctx, source, func(target schema.Target, r rebuild.Result) {
		t.o.Progress(1)
		t.audited(target, r)
	})
	return err
}

// audited adds the outcome of a summary to the report.
func (t *task) audited(target schema.Target, r rebuild.Result) {
	if r.Items > 0 {
		t.kept("%d %s of %s, written meanwhile", r.Items, itemsOf(target), target)
	}
	for _, f := range r.Findings {
		switch {
		case f.Repaired && r.Items == 0:
			t.deleted(Summaries, 1)
		case f.Repaired:
		case r.Items > 0 && target.Bucket != "":
			b := parts.BucketFor(target)
			t.leftTo("the rollup of %s may count deleted events beside those that were written meanwhile: once that %s is over, hotshard check --repair --lower --type entity --name %q --from %s --to %s",
				b.Label(), b.Width, b.Entity, b.Start.Format(time.RFC3339), b.End().Format(time.RFC3339))
		case r.Items > 0 && (r.Open() || f.State == rebuild.Busy) && target.Period != "":
			t.kept("what ranks it has in period %s: whether they count others, too, is not known (%s): hotshard check --repair --type board --name %q, while it is quiet", target.Period, f.Detail, t.base.Name)
		default:
			t.left("the summary %q: %s: %s", target, f.State, f.Detail)
		}
	}
}

// itemsOf returns what a summary sums up.
func itemsOf(t schema.Target) What {
	switch {
	case t.Bucket != "":
		return Events
	case t.Period != "":
		return Entries
	}
	return WriteShards
}
