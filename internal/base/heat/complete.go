package heat

import "time"

const (
	// OnTime is the time after a window's end within which its items are normally put. A later one may be in [Late].
	OnTime = 5 * time.Second

	// Silence is how long after its end a window waits for its first item if no later window has an item. Then either
	// nothing is written, or the detector has stopped.
	Silence = 20 * time.Second

	// Patience is the longest time that a window waits for a stream shard that lags. Later items change windows that
	// were reported as complete.
	Patience = time.Minute

	// heldTime is the time after the end of a Hold within which held windows are normally put, except those of idle
	// stream shards.
	heldTime = 15 * time.Second

	// lagging times a stream shard's last lag is how long a window waits for its next item.
	lagging = 3
)

// Reports has the stream shards' items of some windows, and derives which windows are complete. The zero value is ready
// to use.
//
// A stream shard puts its items in order of time, and none for a window without records. So a window is complete for a
// stream shard that has put an item of it or of a later one. If a stream shard has put only the previous window's item,
// its next one may be late. The last item's lag predicts how late.
type Reports struct {
	// Window is the length of windows, or 0 if it is unknown. Add lowers it to that of the shortest window.
	Window time.Duration

	// Hold is that of [Progress]. If it is longer than Window, windows are complete only after the end of their Hold.
	Hold time.Duration

	// Ran is when the detector last ran. A time before Ran without items had no writes; a later time without items may
	// mean that the detector has stopped.
	Ran time.Time

	shards map[string][]reported
	last   time.Time // start of the newest
}

// reported is an item that a stream shard has put.
type reported struct {
	start, end time.Time
	lag        time.Duration
}

// Add adds items of windows, in any order. Folded items name no stream shards, so Add uses only the length of their
// windows.
func (r *Reports) Add(items []Item) {
	if r.shards == nil {
		r.shards = make(map[string][]reported)
	}
	for i := range items {
		it := &items[i]
		if base := it.base(); r.Window == 0 || base < r.Window {
			r.Window = base
		}
		if it.Base > 0 {
			continue
		}
		id := it.StreamShard
		r.shards[id] = append(r.shards[id], reported{it.Start, it.End(), it.Lag})
		if it.Start.After(r.last) {
			r.last = it.Start
		}
	}
}

// Complete returns the end of the newest complete window, at least wait before now. Windows before from count as
// complete. It returns from if no later window is complete.
func (r *Reports) Complete(from, now time.Time, wait time.Duration) time.Time {
	if r.Window == 0 {
		return from
	}
	last := AlignDown(now.Add(-wait), r.Window).Add(-r.Window) // of the windows that may be complete
	if r.last.Before(last) {
		ran := AlignDown(r.Ran, r.Window).Add(-r.Window)
		if ran.Before(r.last) {
			ran = r.last
		}
		last = minTime(last, ran)
	}
	waited := AlignDown(now.Add(-Patience), r.Window) // windows that end by then wait no longer
	upTo := from
	for start := alignUp(from, r.Window); !start.After(last); start = start.Add(r.Window) {
		if start.Before(waited) { // go to the last window that waits no longer
			start = minTime(waited, last.Add(r.Window)).Add(-r.Window)
		} else if r.wait(start) > now.Sub(start.Add(r.Window)) {
			break
		}
		upTo = start.Add(r.Window)
	}
	if r.Hold > r.Window {
		if upTo = AlignDown(minTime(upTo, now.Add(-heldTime)), r.Hold); upTo.Before(from) {
			return from
		}
	}
	return upTo
}

// wait returns how long after its end a window waits for the stream shards that had items in the window before it.
func (r *Reports) wait(start time.Time) (wait time.Duration) {
	if start.After(r.last) {
		wait = Silence
	}
	for _, list := range r.shards {
		expected, passed, lag := false, false, time.Duration(0)
		for _, it := range list {
			if it.start.Before(start) && !it.end.Before(start) {
				expected, lag = true, max(lag, it.lag)
			}
			passed = passed || !it.start.Before(start)
		}
		if expected && !passed {
			wait = max(wait, OnTime, lagging*lag)
		}
	}
	return min(wait, Patience)
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// alignUp returns the first window border at or after t. Borders are counted from the Unix epoch.
func alignUp(t time.Time, length time.Duration) time.Time {
	if left := t.UnixMilli() % length.Milliseconds(); left != 0 {
		return t.Add(length - time.Duration(left)*time.Millisecond)
	}
	return t
}

// AlignDown returns the last window border at or before t.
func AlignDown(t time.Time, length time.Duration) time.Time {
	return time.UnixMilli(t.UnixMilli() - t.UnixMilli()%length.Milliseconds()).UTC()
}
