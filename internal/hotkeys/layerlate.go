package hotkeys

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// refoldLate folds the minutes again in which late items have windows. It handles the notes of late items that were
// made before notedBefore. It returns the number of windows.
func (f *folder) refoldLate(ctx context.Context, j *journal, p *heat.Progress, notedBefore time.Time) (windows int, err error) {
	minutes, upTo, err := f.listLate(ctx, j, *p, notedBefore)
	if err != nil {
		return 0, err
	}
	for _, minute := range slices.SortedFunc(maps.Keys(minutes), time.Time.Compare) {
		end := minute.Add(time.Minute)
		if end.After(p.To) {
			end = p.To
		}
		n, err := f.foldAll(ctx, j, minute, end, p.To)
		if err != nil {
			return 0, err
		}
		windows += n
	}
	p.Late = upTo
	if windows == 0 {
		return 0, nil
	}
	return windows, f.putProgress(ctx, *p)
}

// listLate returns the folded minutes with windows of late items, and the time up to which it read notes. It stops
// after maxLate minutes and all notes of one time, since the next run begins with a time.
func (f *folder) listLate(ctx context.Context, j *journal, p heat.Progress, notedBefore time.Time) (minutes map[time.Time]bool, upTo time.Time, err error) {
	minutes = make(map[time.Time]bool)
	last := time.Time{}
	for item, err := range f.heat.items(ctx, heat.LatePartition, p.Late, notedBefore) {
		if err != nil {
			return nil, upTo, fmt.Errorf("hotkeys: reading the notes of late items: %w", err)
		}
		late, err := heat.ParseLate(item)
		if err != nil {
			f.heat.logUnreadable(ctx, j, []error{err})
			continue
		}
		first := late.Start.Truncate(time.Minute)
		if len(minutes) >= maxLate && !minutes[first] && late.Noted.After(last) {
			return minutes, late.Noted, nil
		}
		last = late.Noted
		for minute := first; minute.Before(late.End); minute = minute.Add(time.Minute) {
			if !minute.Before(p.From) && minute.Before(p.To) {
				minutes[minute] = true
			}
		}
	}
	return minutes, notedBefore, nil
}
