package hotkeys

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// refoldLate folds windows with late items again, and their minutes, for notes before a time. It returns the number of
// windows.
func (f *folder) refoldLate(ctx context.Context, j *journal, p *heat.Progress, before time.Time) (int, error) {
	starts, upTo, err := f.listLate(ctx, j, *p, before)
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
	if p.Late = upTo; len(starts) > 0 {
		err = f.putProgress(ctx, *p)
	}
	return len(starts), err
}

// span is a time range.
type span struct{ from, to time.Time }

// spansOf merges adjacent windows, so that items with several windows are read once.
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
func (f *folder) listLate(ctx context.Context, j *journal, p heat.Progress, before time.Time) (starts map[time.Time]bool, upTo time.Time, err error) {
	starts = make(map[time.Time]bool)
	for item, err := range f.heat.items(ctx, heat.LatePartition, p.Late, before) {
		if err != nil {
			return nil, upTo, fmt.Errorf("hotkeys: reading the notes of late items: %w", err)
		}
		late, err := heat.ParseLate(item)
		if err != nil {
			f.heat.unreadable(ctx, j, []error{err})
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
	return starts, before, nil
}
