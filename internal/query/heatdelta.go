package query

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// layout has the rows of a full answer, in which later polls are answered. It never changes, so a poll whose answer is
// lost does no harm.
type layout struct {
	parameters string // of the request
	step       time.Duration
	made       time.Time
	from       time.Time // start of the answer's first column
	asOf       time.Time
	span       time.Duration // windows that end within span before asOf decide which keys are currently hot
	rows       []heat.Row
	changes    changes
}

// Bounds of layouts. An old layout is not used any more, so that ranges adapt to the load, and late items appear.
const (
	maxLayouts = 64
	layoutTime = time.Minute
)

// parameters returns the parameters that a poll must repeat, except the step.
func (in *heatInput) parameters() string {
	return fmt.Sprintf("%q %q %q %q %d %q", in.Table, in.Index, in.Filter, in.Group, in.Rows, in.Unfold)
}

// storeLayout stores the layout of a full answer and returns its name. It returns "" if the answer has no complete
// time.
func (h *Heat) storeLayout(in *heatInput, m *heat.Matrix, span time.Duration, changed changes, now time.Time) string {
	if m.AsOf.IsZero() {
		return ""
	}
	name := rand.Text()
	h.layouts.Set(name, &layout{
		parameters: in.parameters(), step: time.Duration(m.Step), made: now, from: m.From.Time, asOf: m.AsOf.Time, span: span,
		rows: heat.Bare(m.Rows), changes: changed,
	})
	return name
}

// findLayout returns the layout that a poll names. It returns nil if the poll needs a full answer, because the layout
// is unknown or too old, or because the poll has other parameters or earlier columns.
func (h *Heat) findLayout(in *heatInput, o heat.MapOptions, now time.Time) *layout {
	if in.Layout == "" || in.After.IsZero() {
		return nil
	}
	l, ok := h.layouts.Get(in.Layout)
	switch {
	case !ok, l.parameters != in.parameters(), l.step != o.Step:
		return nil
	case now.Before(l.made), now.Sub(l.made) > layoutTime: // before if the clock was set back
		return nil
	case in.After.Before(l.from), o.From.Before(l.from), in.After.After(o.To):
		return nil
	}
	return l
}

// getDelta answers a poll with the newest columns. It returns nil if the layout lacks a row that is needed. It reads
// all windows since the full answer, so the answer doesn't depend on earlier polls.
func (h *Heat) getDelta(ctx context.Context, in *heatInput, l *layout, o heat.MapOptions, now time.Time) (*heatOutput, error) {
	o.From = later(l.from, earlier(in.After.UTC().Truncate(o.Step), o.To.Add(-o.Step)))
	o.Since = later(l.from, l.asOf.Add(-l.span))
	m, _, fresh, err := h.heatMap(ctx, o, now)
	if err != nil {
		return nil, err
	}
	matrix, ok := m.Lay(l.rows)
	if !ok {
		return nil, nil
	}
	if err := h.finish(ctx, &matrix, mergeChanges(l.changes, fresh), now); err != nil {
		return nil, err
	}
	matrix.Layout, matrix.Delta = in.Layout, true
	rows := matrix.Rows
	matrix.Rows = []heat.Row{}
	for _, row := range rows {
		whole := l.mayDiffer(&row)
		if !whole && slices.Max(row.Units) == 0 {
			continue
		}
		if !whole {
			row.Shorten()
		}
		matrix.Rows = append(matrix.Rows, row)
	}
	out := &heatOutput{}
	out.Body.Matrix = matrix
	return out, nil
}

// mayDiffer reports whether a row may differ from that of the full answer in more than its numbers.
func (l *layout) mayDiffer(row *heat.Row) bool {
	was := &l.rows[*row.Row]
	return len(row.Changes) != len(was.Changes) || row.Worst >= heat.Hot || was.Status >= heat.Hot || len(row.WriteShards) > 0
}
