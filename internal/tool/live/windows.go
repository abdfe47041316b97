package live

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// windows collects the counts of all stream shards, each of which delivers its counts of a window that
// has ended.
type windows struct {
	blank  heat.Item // without keys and start time
	atOnce bool      // the first window begins when reading begins

	mu      sync.Mutex
	begin   time.Time            // records are counted from then on
	base    time.Time            // start of the first window
	reading map[string]*counting // by stream shard
	open    map[int64]*counts    // windows that are not in history, by their start in Unix seconds
	over    time.Time            // windows that end by then are in history
	history history
}

// counts has the counts of a window that stream shards have delivered.
type counts struct {
	items []heat.Item
	lost  time.Duration // total time that stream shards were not read
}

func newWindows(blank heat.Item, atOnce bool) *windows {
	return &windows{blank: blank, atOnce: atOnce, reading: make(map[string]*counting), open: make(map[int64]*counts)}
}

// start sets the time from which records are counted.
func (w *windows) start(begin time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begin, w.base = begin, begin
	if !w.atOnce {
		w.base = begin.Truncate(Window)
	}
	w.over = w.base
}

// startCounting begins the counting of a stream shard.
func (w *windows) startCounting(id string) *counting {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := newCounting(w, id, later(w.over, w.begin), w.over)
	w.reading[id] = c
	return c
}

// remove ends the counting of a stream shard that has delivered all its counts.
func (w *windows) remove(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.reading, id)
}

// startOf returns the start of the window of t.
func (w *windows) startOf(t time.Time) time.Time { return w.base.Add(t.Sub(w.base).Truncate(Window)) }

// addCounts adds a stream shard's counts of a window, or the time that it was not read.
func (w *windows) addCounts(item *heat.Item, start time.Time, lost time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.open[start.Unix()]
	if p == nil {
		p = &counts{}
		w.open[start.Unix()] = p
	}
	if item != nil {
		p.items = append(p.items, *item)
	}
	p.lost += lost
}

// close moves the windows that all stream shards have passed into history.
func (w *windows) close() {
	passed := w.passed()
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.over.IsZero() {
		end := w.over.Add(Window)
		if end.After(passed) {
			break
		}
		p := w.open[w.over.Unix()]
		delete(w.open, w.over.Unix())
		w.history.addWindow(w.window(w.over, p))
		w.over = end
	}
	for start, p := range w.open { // late counts
		if at := time.Unix(start, 0).UTC(); at.Before(w.over) {
			w.history.amend(at, p.items)
			delete(w.open, start)
		}
	}
}

// passed returns the time until which all stream shards have been read.
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

// settled returns the time until which windows are in history.
func (w *windows) settled() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.over
}

// window combines the counts that stream shards delivered. The caller holds mu.
func (w *windows) window(start time.Time, p *counts) heat.Window {
	if p == nil {
		p = &counts{}
	}
	items := p.items
	if len(items) == 0 { // it was read and had no writes
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

// leastCoverage is the coverage of a window of which nothing was read. A coverage of 0 is omitted from
// the item and means that all was read.
const leastCoverage = 1e-9

// complete returns the complete windows from from to to.
func (w *windows) complete(from, to time.Time) []heat.Window {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.history.windows(from, to)
}
