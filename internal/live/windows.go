package live

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/heat"
)

// windows are what all stream shards were counted in: each counts by itself, and hands on what
// it has of a window that is over.
type windows struct {
	blank  heat.Item // one without keys, but for when it starts
	atOnce bool      // the first one begins when reading does

	mu      sync.Mutex
	begin   time.Time            // since when records are counted
	base    time.Time            // of the first window
	reading map[string]*counting // by stream shard
	parts   map[int64]*parts     // of windows that are not over, by their start in seconds
	over    time.Time            // windows that end by then are in history
	history history
}

// parts are what stream shards have handed on of a window.
type parts struct {
	items []heat.Item
	lost  time.Duration // that stream shards were not read, added up
}

func newWindows(blank heat.Item, atOnce bool) *windows {
	return &windows{blank: blank, atOnce: atOnce, reading: make(map[string]*counting), parts: make(map[int64]*parts)}
}

// start is called once, with the time from which on records are counted.
func (w *windows) start(begin time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begin, w.base = begin, begin
	if !w.atOnce {
		w.base = begin.Truncate(Window)
	}
	w.over = w.base
}

// add begins the counting of a stream shard.
func (w *windows) add(id string) *counting {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := newCounting(w, id, later(w.over, w.begin), w.over)
	w.reading[id] = c
	return c
}

// remove ends the counting of a stream shard, which has handed on all that it had.
func (w *windows) remove(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.reading, id)
}

// startOf is the start of the window that a time is in, not before the first one.
func (w *windows) startOf(t time.Time) time.Time { return w.base.Add(t.Sub(w.base).Truncate(Window)) }

// hand takes a stream shard's part of a window.
func (w *windows) hand(item *heat.Item, start time.Time, lost time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.parts[start.Unix()]
	if p == nil {
		p = &parts{}
		w.parts[start.Unix()] = p
	}
	if item != nil {
		p.items = append(p.items, *item)
	}
	p.lost += lost
}

// close puts windows into history that all stream shards have passed.
func (w *windows) close() {
	passed := w.passed()
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.over.IsZero() {
		end := w.over.Add(Window)
		if end.After(passed) {
			break
		}
		p := w.parts[w.over.Unix()]
		delete(w.parts, w.over.Unix())
		w.history.add(w.window(w.over, p))
		w.over = end
	}
	for start, p := range w.parts { // what came late
		if at := time.Unix(start, 0).UTC(); at.Before(w.over) {
			w.history.amend(at, p.items)
			delete(w.parts, start)
		}
	}
}

// passed is until when all stream shards have been read.
func (w *windows) passed() (least time.Time) {
	for _, c := range w.all() {
		if passed := c.passedBy(); least.IsZero() || passed.Before(least) {
			least = passed
		}
	}
	return least
}

func (w *windows) all() []*counting {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Values(w.reading))
}

// settled is until when windows are in history.
func (w *windows) settled() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.over
}

// window puts together what stream shards handed on. The caller holds mu.
func (w *windows) window(start time.Time, p *parts) heat.Window {
	if p == nil {
		p = &parts{}
	}
	items := p.items
	if len(items) == 0 { // it was read, and there was nothing
		item := w.blank
		item.Start = start
		items = []heat.Item{item}
	}
	read := Window - max(0, w.begin.Sub(start))
	coverage := (read.Seconds() - p.lost.Seconds()/float64(max(1, len(w.reading)))) / Window.Seconds()
	for i := range items {
		if coverage < 1 {
			items[i].Coverage = max(coverage, leastCoverage)
		}
	}
	return heat.Window{Start: start, Items: items}
}

// leastCoverage stands for nothing, since 0 stands for all.
const leastCoverage = 1e-9

// of are the windows of a time: those that are over, and the running ones as far as they are
// counted.
func (w *windows) of(from, to time.Time, step time.Duration) []heat.Window {
	running := w.running()
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.history.windows(from, to, step)
	for _, window := range between(running, from, to) {
		if !window.Start.Before(w.over) { // it may have ended meanwhile
			list = append(list, window)
		}
	}
	return list
}

// running are the windows that are not over, as far as they are counted. A window that a
// stream shard hands on meanwhile may be missed, but is not counted twice.
func (w *windows) running() []heat.Window {
	all := w.handed()
	var open []heat.Item
	for _, c := range w.all() {
		open = append(open, c.running()...)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, item := range open {
		start := item.Start.Unix()
		if all[start] == nil {
			all[start] = &parts{}
		}
		all[start].items = append(all[start].items, item)
	}
	var list []heat.Window
	for start, p := range all {
		list = append(list, w.window(time.Unix(start, 0).UTC(), p))
	}
	slices.SortFunc(list, func(a, b heat.Window) int { return a.Start.Compare(b.Start) })
	return list
}

// handed is a copy of what stream shards have handed on of windows that are not over.
func (w *windows) handed() map[int64]*parts {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make(map[int64]*parts)
	for start, p := range w.parts {
		all[start] = &parts{slices.Clone(p.items), p.lost}
	}
	return all
}
