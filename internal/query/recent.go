package query

import (
	"context"
	"iter"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// counted is a source that a detector writes and a task folds. It returns how far it is complete.
type counted interface {
	full
	Alone(ctx context.Context, from, to time.Time) iter.Seq2[heat.Window, error]
	Progress(ctx context.Context) (heat.Progress, error)
}

// recent has the newest windows of a time, complete and open ones apart.
type recent struct {
	from           time.Time     // earlier windows are complete, and not in here
	complete, open []heat.Window // by time
	asOf           time.Time     // end of the newest complete window; zero if none is known
	span           time.Duration // the windows of this time before asOf decide which keys are currently hot
	read           time.Time     // from then to asOf, a time without a window had no writes; zero if unknown
}

// Bounds of the windows that are read one by one.
const (
	leastSpan = time.Minute      // before the newest complete window
	farBehind = 10 * time.Minute // lag of the layers beyond which windows are not held in memory
	longest   = 10 * time.Minute // longest folded window of any source
)

// recentSpan returns how long before the newest complete window reading begins. The two newest
// windows decide which keys are currently hot.
func recentSpan(window time.Duration) time.Duration { return max(leastSpan, 2*window) }

// recent reads the newest windows of a time. A live source has complete windows only.
func (h *Heat) recent(ctx context.Context, from, to, now time.Time) (r recent, err error) {
	end, p := earlier(to, now.Add(ahead)), heat.Progress{}
	source, isCounted := h.source.(counted)
	if isCounted {
		if p, err = source.Progress(ctx); err != nil {
			return r, err
		}
		r.from = later(p.To, end.Add(-farBehind))
	}
	r.from = later(from, earlier(later(r.from, end.Add(-farBehind)), end).Add(-recentSpan(p.Window)))
	if !isCounted { // it yields folded windows whole, so none may reach beyond r.from
		r.from = later(from, heat.AlignDown(r.from, longest))
	}
	reports := heat.Reports{Ran: p.Ran, Window: p.Window, Hold: p.Hold}
	for window, err := range h.source.Windows(ctx, r.from, end, time.Second) {
		if err := fault(window, err); err != nil {
			return r, err
		}
		reports.Add(window.Items)
		p.To = later(p.To, foldedTo(window))
		r.complete = append(r.complete, window)
	}
	if !isCounted {
		r.asOf, r.span = newestEnd(r.complete), recentSpan(reports.Window)
		return r, nil
	}
	upTo, err := h.completeUpTo(ctx, source, &reports, p, now)
	if err != nil {
		return r, err
	}
	r.sort(upTo)
	r.read, r.asOf, r.span = p.Read, earlier(earlier(upTo, to), now), recentSpan(reports.Window)
	return r, nil
}

// completeUpTo returns the time up to which windows are complete, from the reports since they were
// folded.
func (h *Heat) completeUpTo(ctx context.Context, source counted, reports *heat.Reports, p heat.Progress, now time.Time) (time.Time, error) {
	if p.To.IsZero() {
		return reports.Complete(p.To, now, heat.OnTime), nil
	}
	if reports.Window == 0 { // nothing was written, and no task has reported
		reports.Window = usualWindow
	}
	for window, err := range source.Alone(ctx, p.To.Add(-max(reports.Window, p.Window)), p.To) {
		if err != nil {
			return p.To, fault(window, err)
		}
		reports.Add(window.Items)
	}
	return reports.Complete(p.To, now, heat.OnTime), nil
}

// usualWindow is the assumed length of windows if none is known.
const usualWindow = 10 * time.Second

// foldedTo returns the end of a folded window, or zero for any other. A folded window is complete.
// If it was folded after the progress was read, no report covers it.
func foldedTo(w heat.Window) (end time.Time) {
	for i := range w.Items {
		if w.Items[i].Base > 0 {
			end = later(end, w.Items[i].End())
		}
	}
	return end
}

// sort separates complete windows from open ones.
func (r *recent) sort(upTo time.Time) {
	all := r.complete
	r.complete = nil
	for _, w := range all {
		if w.Start.Before(upTo) {
			r.complete = append(r.complete, w)
		} else {
			r.open = append(r.open, w)
		}
	}
}

// newestEnd returns the end of the newest window, or zero without any.
func newestEnd(windows []heat.Window) (end time.Time) {
	for _, w := range windows {
		for i := range w.Items {
			end = later(end, w.Items[i].End())
		}
	}
	return end
}
