package query

import (
	"context"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
)

// foldedSource is a source whose windows a task folds. It knows how far they are complete.
type foldedSource interface {
	Progress(ctx context.Context) (heat.Progress, error)
}

// newestWindows has the newest windows of a time range, complete and open windows separately.
type newestWindows struct {
	from           time.Time     // earlier windows are complete, and not in here
	complete, open []heat.Window // sorted by time
	asOf           time.Time     // end of the newest complete window; zero if none is known
	readFrom       time.Time     // from readFrom to asOf, a time without a window had no writes; zero if unknown
}

const (
	minRecent     = time.Minute      // lower bound of recentSpan
	maxLag        = 10 * time.Minute // if the folds lag more, newestWindows lacks windows, which bounds its memory
	longestWindow = 10 * time.Minute // longest folded window of any source
)

// recentSpan returns how long before the newest complete window newestWindows begins: at least two windows, because the two
// newest windows decide which keys are currently hot.
func recentSpan(window time.Duration) time.Duration { return max(minRecent, 2*window) }

// readNewest reads the newest windows of a time range. All are complete unless the source is a foldedSource.
func (h *Heat) readNewest(ctx context.Context, from, to, now time.Time) (found newestWindows, err error) {
	end, progress := heat.MinTime(to, now.Add(maxAhead)), heat.Progress{}
	source, isFolded := h.source.(foldedSource)
	if isFolded {
		if progress, err = source.Progress(ctx); err != nil {
			return found, dynamo.Classify(err)
		}
	}
	found.from = startOfNewest(from, end, progress, isFolded)
	for window, err := range h.source.Windows(ctx, found.from, end, time.Second) {
		if err != nil {
			return found, dynamo.Classify(err)
		}
		progress.To = heat.MaxTime(progress.To, foldedTo(window))
		found.complete = append(found.complete, window)
	}
	if !isFolded {
		found.asOf = newestEnd(found.complete)
		return found, nil
	}
	upTo := progress.Complete(found.complete, now)
	found.moveOpen(upTo)
	found.readFrom, found.asOf = progress.Read, heat.MinTime(heat.MinTime(upTo, to), now)
	return found, nil
}

// startOfNewest returns the time from which windows are read one by one, but not before from: recentSpan before the end of
// the folds, or before end minus maxLag if the folds ended earlier.
func startOfNewest(from, end time.Time, progress heat.Progress, isFolded bool) time.Time {
	upTo := heat.MinTime(heat.MaxTime(progress.To, end.Add(-maxLag)), end)
	start := heat.MaxTime(from, upTo.Add(-recentSpan(progress.Window)))
	if isFolded {
		return start
	}
	// The source yields folded windows whole, so none may reach beyond the start.
	return heat.MaxTime(from, heat.AlignDown(start, longestWindow))
}

// foldedTo returns the end of a folded window, which is complete, or zero for any other window. The progress may lack a
// window that was folded after the progress was read.
func foldedTo(w heat.Window) (end time.Time) {
	for i := range w.Items {
		if w.Items[i].Base > 0 {
			end = heat.MaxTime(end, w.Items[i].End())
		}
	}
	return end
}

// moveOpen moves the windows that start at upTo or later from complete, which is sorted, to open.
func (r *newestWindows) moveOpen(upTo time.Time) {
	n := slices.IndexFunc(r.complete, func(w heat.Window) bool { return !w.Start.Before(upTo) })
	if n >= 0 {
		r.complete, r.open = r.complete[:n:n], r.complete[n:]
	}
}

// newestEnd returns the end of the newest window, or zero without any.
func newestEnd(windows []heat.Window) (end time.Time) {
	for _, w := range windows {
		for i := range w.Items {
			end = heat.MaxTime(end, w.Items[i].End())
		}
	}
	return end
}
