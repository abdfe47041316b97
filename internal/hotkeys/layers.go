package hotkeys

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// LayersTask is the payload with which a schedule invokes [Handler.Invoke] every [LayersInterval]. The answer is
// {"windows":6,"late":0}: the number of folded windows, and of those that were folded again because of late items.
const LayersTask = `{"task":"layers"}`

// LayersInterval is the time between two runs of the layers task. For the time since the last run, readers of heat read
// the items of all stream shards.
const LayersInterval = time.Minute

// layersAnswer is the JSON of the task's answer.
type layersAnswer struct {
	Windows int `json:"windows"`
	Late    int `json:"late"`
}

const (
	// settleTime is the shortest time between a window's end and its fold: see [heat.Reports]. An item that is put
	// within [heat.OnTime] is in the fold, if clocks differ by at most settleTime - OnTime. A later item gets a note,
	// after which the next run folds its window again.
	settleTime = 10 * time.Second

	// catchUp bounds the length of the time range that one run folds after an outage.
	catchUp = 10 * time.Minute

	// streamRetention is how long DynamoDB keeps a stream's records.
	streamRetention = 24 * time.Hour

	// maxLate bounds the minutes that one run folds again.
	maxLate = 10
)

// folder is the scheduled task that merges heat items into layers. Concurrent runs are safe: an item's key depends only
// on its time, its content only on the items that were read, and an item with more records is not replaced.
type folder struct {
	settings Settings
	heat     *table
	mu       sync.Mutex // locked while the task runs
}

// task runs the scheduled task.
func (f *folder) task(ctx context.Context, j *journal) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := j.now().UTC()
	p, err := f.begin(ctx, j, now)
	if err != nil {
		return nil, err
	}
	p.Read, p.Ran, p.Window, p.Hold = f.readSince(p, now), now, f.settings.Window, f.settings.Hold
	if err := f.noteHold(ctx, &p); err != nil {
		return nil, err
	}
	var answer layersAnswer
	if answer.Late, err = f.refoldLate(ctx, j, &p, now.Add(-settleTime)); err != nil {
		return nil, err
	}
	before := p.To
	answer.Windows, err = f.foldNew(ctx, j, &p, now)
	if err == nil && p.To.Equal(before) { // else foldNew has stored the progress
		err = f.putProgress(ctx, p)
	}
	if err != nil {
		return nil, err
	}
	answer.Windows += answer.Late
	// An alarm waits for this line.
	j.InfoContext(ctx, "layers task done", "windows", answer.Windows, "late", answer.Late, "upTo", p.To)
	return json.Marshal(answer)
}

// noteHold stores a changed [Settings.Hold] before anything is read, because readers find held items by it.
func (f *folder) noteHold(ctx context.Context, p *heat.Progress) error {
	switch {
	case !f.settings.holds() || p.Held == f.settings.Hold || p.Held == heat.MaxHold:
		return nil
	case p.Held == 0:
		p.Held = f.settings.Hold
	default:
		p.Held = heat.MaxHold
	}
	return f.putProgress(ctx, *p)
}

// begin returns the stored progress. If there is none, or its items have expired, the layers begin ten minutes ago.
func (f *folder) begin(ctx context.Context, j *journal, now time.Time) (heat.Progress, error) {
	p, err := f.heat.Progress(ctx)
	if err != nil {
		return p, fmt.Errorf("hotkeys: %w", err)
	}
	if p.To.Before(now.Add(-f.settings.HeatRetention)) {
		j.InfoContext(ctx, "layers begin")
		first := now.Add(-catchUp).Truncate(heat.ByTenMinutes.Length()) // so that the first item of ten minutes is whole
		p = heat.Progress{From: first, To: first, Late: now.Add(-settleTime), Read: heat.AlignDown(now.Add(-settleTime), f.settings.Window)}
	}
	return p, nil
}

// readSince returns the time from which a window without an item had no writes. Items before it may have expired, or an
// outage may have outlasted the stream's records.
func (f *folder) readSince(p heat.Progress, now time.Time) time.Time {
	kept := heat.AlignDown(now.Add(-f.settings.HeatRetention), f.settings.Window).Add(f.settings.Window)
	switch {
	case !p.Ran.IsZero() && now.Sub(p.Ran) > streamRetention:
		return heat.AlignDown(now, f.settings.Window)
	case p.Read.Before(kept):
		return kept
	}
	return p.Read
}

// foldNew folds the windows that have ended since the last run, and the minutes that they complete. It returns the
// number of windows.
func (f *folder) foldNew(ctx context.Context, j *journal, p *heat.Progress, now time.Time) (n int, err error) {
	until, err := f.complete(ctx, p.To, now)
	if err != nil {
		return 0, err
	}
	if most := p.To.Add(catchUp); until.After(most) {
		until = most
	}
	step := max(heat.ByMinute.Length(), f.settings.Hold)
	for p.To.Before(until) {
		end := heat.AlignDown(p.To, step).Add(step)
		if end.After(until) {
			end = until
		}
		windows, err := f.foldAll(ctx, j, p.To, end, end)
		n += windows
		if err != nil {
			return n, err
		}
		p.To = end
		if err := f.putProgress(ctx, *p); err != nil {
			return n, err
		}
	}
	return n, nil
}

// foldAll folds the windows from a time to another, and the minutes and ten minutes with any of them that end at most at
// upTo. It returns the number of windows.
func (f *folder) foldAll(ctx context.Context, j *journal, from, to, upTo time.Time) (windows int, err error) {
	windows, err = f.fold(ctx, j, heat.ByWindow, from, to)
	for _, layer := range []heat.Layer{heat.ByMinute, heat.ByTenMinutes} {
		length := layer.Length()
		for at := from.Truncate(length); err == nil && at.Before(to) && !at.Add(length).After(upTo); at = at.Add(length) {
			_, err = f.fold(ctx, j, layer, at, at.Add(length))
		}
	}
	return windows, err
}

// complete returns the time up to which windows are complete; at least from, if windows are not held.
func (f *folder) complete(ctx context.Context, from, now time.Time) (time.Time, error) {
	if f.settings.holds() { // quiet windows are put by then: see storedBy
		return heat.AlignDown(now.Add(-idleTime-settleTime), f.settings.Hold), nil
	}
	reports := heat.Reports{Window: f.settings.Window, Ran: now}
	since := now.Add(-heat.Patience) // windows that ended earlier count as complete
	if from.After(since) {
		since = from
	}
	for window, err := range f.heat.Alone(ctx, since.Add(-2*f.settings.Window), now) {
		if err != nil {
			return from, fmt.Errorf("hotkeys: reading which stream shards have reported: %w", err)
		}
		reports.Add(window.Items)
	}
	return reports.Complete(from, now, settleTime), nil
}

func (f *folder) putProgress(ctx context.Context, p heat.Progress) error {
	if err := f.heat.putItem(ctx, p.Attributes()); err != nil {
		return fmt.Errorf("hotkeys: storing the progress of the layers: %w", err)
	}
	return nil
}
