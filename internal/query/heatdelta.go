package query

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// layout is the layout of a full answer's rows, for later polls. It never changes, so lost answers
// of polls do no harm.
type layout struct {
	asked   string // the parameters
	step    time.Duration
	made    time.Time
	from    time.Time // start of the answer's first column
	asOf    time.Time
	span    time.Duration // the windows of this time before asOf decide which keys are currently hot
	rows    []heat.Row
	changes changes
}

// Bounds of layouts. An older layout is dropped, so that ranges adapt to the load, and late items
// appear.
const (
	maxLayouts = 64
	layoutTime = time.Minute
)

// asked returns the parameters that a poll must repeat, besides the step.
func (in *heatInput) asked() string {
	return fmt.Sprintf("%q %q %q %q %d %q", in.Table, in.Index, in.Filter, in.Group, in.Rows, in.Unfold)
}

// keep stores the layout of a full answer, and returns its name, or "" if no complete time is
// known.
func (h *Heat) keep(in *heatInput, m *heat.Matrix, span time.Duration, changed changes, now time.Time) string {
	if m.AsOf.IsZero() {
		return ""
	}
	name := rand.Text()
	h.layouts.Set(name, &layout{asked: in.asked(), step: time.Duration(m.Step), made: now, from: m.From.Time, asOf: m.AsOf.Time, span: span, rows: heat.Bare(m.Rows), changes: changed})
	return name
}

// known returns the layout that the poll names, or nil if the poll needs a full answer. It does if
// the layout is unknown, too old or from before the clock was set back, or if the poll has other
// parameters or earlier columns.
func (h *Heat) known(in *heatInput, o heat.MapOptions, now time.Time) *layout {
	if in.Layout == "" || in.After.IsZero() {
		return nil
	}
	l, ok := h.layouts.Get(in.Layout)
	if !ok || l.asked != in.asked() || l.step != o.Step || now.Before(l.made) || now.Sub(l.made) > layoutTime {
		return nil
	}
	if in.After.Before(l.from) || o.From.Before(l.from) || in.After.After(o.To) {
		return nil
	}
	return l
}

// getDelta answers a poll, or returns nil if the poll needs a full answer. It reads all windows
// since the full answer, so the answer doesn't depend on earlier polls.
func (h *Heat) getDelta(ctx context.Context, in *heatInput, l *layout, o heat.MapOptions, now time.Time) (*heatOutput, error) {
	o.From = later(l.from, earlier(in.After.UTC().Truncate(o.Step), o.To.Add(-o.Step)))
	o.Since = later(l.from, l.asOf.Add(-l.span))
	m, _, fresh, err := h.heatMap(ctx, o, now)
	if err != nil {
		return nil, err
	}
	out := &heatOutput{}
	matrix, ok := m.Lay(l.rows)
	if !ok {
		return nil, nil
	}
	if err := h.finish(ctx, &matrix, joined(l.changes, fresh), now); err != nil {
		return nil, err
	}
	matrix.Layout, matrix.Delta = in.Layout, true
	rows := matrix.Rows
	matrix.Rows = []heat.Row{}
	for _, row := range rows {
		if !l.news(&row) {
			if slices.Max(row.Units) == 0 {
				continue
			}
			row.Shorten()
		}
		matrix.Rows = append(matrix.Rows, row)
	}
	out.Body.Matrix = matrix
	return out, nil
}

// news reports whether more than the row's numbers may differ from those of the full answer.
func (l *layout) news(row *heat.Row) bool {
	was := &l.rows[*row.Row]
	return len(row.Changes) != len(was.Changes) || row.Worst >= heat.Hot || was.Status >= heat.Hot || len(row.WriteShards) > 0
}
