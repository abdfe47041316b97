package hotkeys

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// refoldLate folds the windows again whose items were late, and the minutes that contain them. It handles the notes of
// late items that were made before notedBefore. It returns the number of windows.
func (f *folder) refoldLate(ctx context.Context, j *journal, p *heat.Progress, notedBefore time.Time) (int, error) {
	starts, upTo, err := f.listLate(ctx, j, *p, notedBefore)
	if err != nil {
		return 0, err
	}
	for _, s := range spansOf(starts, f.settings.Window) {
		if _, err := f.fold(ctx, j, heat.ByWindow, s.from, s.to); err != nil {
			return 0, err
		}
	}
	for _, layer := range []heat.Layer{heat.ByMinute, heat.ByTenMinutes} {
		times := make(map[time.Time]bool)
		for start := range starts {
			times[start.Truncate(layer.Length())] = true
		}
		for start := range times {
			if end := start.Add(layer.Length()); !end.After(p.To) {
				if _, err := f.fold(ctx, j, layer, start, end); err != nil {
					return 0, err
				}
			}
		}
	}
	p.Late = upTo
	if len(starts) == 0 {
		return 0, nil
	}
	return len(starts), f.putProgress(ctx, *p)
}

// span selects the windows that start in [from, to).
type span struct{ from, to time.Time }

// spansOf merges adjacent windows into spans, so that an item with several windows is read once. A span ends a
// millisecond after the start of its last window.
func spansOf(starts map[time.Time]bool, window time.Duration) (spans []span) {
	for _, start := range slices.SortedFunc(maps.Keys(starts), time.Time.Compare) {
		if last := len(spans) - 1; last >= 0 && start.Sub(spans[last].to) < window {
			spans[last].to = start.Add(time.Millisecond)
		} else {
			spans = append(spans, span{start, start.Add(time.Millisecond)})
		}
	}
	return spans
}

// listLate returns the starts of folded windows with late items, and the time up to which it read notes. It stops after
// maxLate windows.
func (f *folder) listLate(ctx context.Context, j *journal, p heat.Progress, notedBefore time.Time) (starts map[time.Time]bool, upTo time.Time, err error) {
	starts = make(map[time.Time]bool)
	for item, err := range f.heat.items(ctx, heat.LatePartition, p.Late, notedBefore) {
		if err != nil {
			return nil, upTo, fmt.Errorf("hotkeys: reading the notes of late items: %w", err)
		}
		late, err := heat.ParseLate(item)
		if err != nil {
			f.heat.logUnreadable(ctx, j, []error{err})
			continue
		}
		if len(starts) >= maxLate && !starts[late.Start] {
			return starts, late.Noted, nil
		}
		for start := late.Start; start.Equal(late.Start) || start.Before(late.End); start = start.Add(f.settings.Window) {
			if !start.Before(p.From) && start.Before(p.To) {
				starts[start] = true
			}
		}
	}
	return starts, notedBefore, nil
}
