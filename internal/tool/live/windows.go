package live

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// windows collects the counts of all stream shards, and keeps complete windows in its history. Each shardCounter delivers
// its counts of a window when the window has ended.
type windows struct {
	blank  heat.Item // without keys and start time
	atOnce bool      // the first window begins when reading begins

	mu         sync.Mutex
	countFrom  time.Time                // records are counted from then on
	firstStart time.Time                // start of the first window
	counters   map[string]*shardCounter // by stream shard
	open       map[int64]*counts        // windows that are not in history, by their start in Unix seconds
	historyEnd time.Time                // windows that end by then are in history
	history    history
}

// counts has the counts of a window that stream shards have delivered.
type counts struct {
	items []heat.Item
	lost  time.Duration // total time that stream shards were not read
}

func newWindows(blank heat.Item, atOnce bool) *windows {
	return &windows{blank: blank, atOnce: atOnce, counters: make(map[string]*shardCounter), open: make(map[int64]*counts)}
}

// start sets the time from which records are counted.
func (w *windows) start(begin time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.countFrom, w.firstStart = begin, begin
	if !w.atOnce {
		w.firstStart = begin.Truncate(Window)
	}
	w.historyEnd = w.firstStart
}

// startCounting begins the counting of a stream shard.
func (w *windows) startCounting(id string) *shardCounter {
	w.mu.Lock()
	defer w.mu.Unlock()
	from := later(w.historyEnd, w.countFrom)
	c := &shardCounter{windows: w, id: id, since: w.countFrom, newest: from, open: openWindows{}, read: from, deliveredTo: w.historyEnd}
	w.counters[id] = c
	return c
}

// remove ends the counting of a stream shard that has delivered all its counts.
func (w *windows) remove(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.counters, id)
}

// startOf returns the start of the window of t.
func (w *windows) startOf(t time.Time) time.Time {
	return w.firstStart.Add(t.Sub(w.firstStart).Truncate(Window))
}

// addCounts adds a stream shard's counts of a window, or the time that it was not read.
func (w *windows) addCounts(item *heat.Item, start time.Time, lost time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delivered := w.open[start.Unix()]
	if delivered == nil {
		delivered = &counts{}
		w.open[start.Unix()] = delivered
	}
	if item != nil {
		delivered.items = append(delivered.items, *item)
	}
	delivered.lost += lost
}

// moveComplete moves the windows that all stream shards have delivered into history.
func (w *windows) moveComplete() {
	delivered := w.deliveredByAll()
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.historyEnd.IsZero() {
		end := w.historyEnd.Add(Window)
		if end.After(delivered) {
			break
		}
		p := w.open[w.historyEnd.Unix()]
		delete(w.open, w.historyEnd.Unix())
		w.history.addWindow(w.combine(w.historyEnd, p))
		w.historyEnd = end
	}
	for start, p := range w.open { // late counts
		if at := time.Unix(start, 0).UTC(); at.Before(w.historyEnd) {
			w.history.addLate(at, p.items)
			delete(w.open, start)
		}
	}
}

// deliveredByAll returns the time until which all stream shards have delivered their windows; zero without stream shards.
func (w *windows) deliveredByAll() (earliest time.Time) {
	w.mu.Lock()
	counters := slices.Collect(maps.Values(w.counters))
	w.mu.Unlock()
	for _, c := range counters {
		if delivered := c.deliveredUntil(); earliest.IsZero() || delivered.Before(earliest) {
			earliest = delivered
		}
	}
	return earliest
}

// completeUntil returns the time until which windows are in history.
func (w *windows) completeUntil() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.historyEnd
}

// combine returns the window with the delivered counts, nil for no counts. The caller holds mu.
func (w *windows) combine(start time.Time, delivered *counts) heat.Window {
	if delivered == nil {
		delivered = &counts{}
	}
	items := delivered.items
	if len(items) == 0 { // it was read and had no writes
		item := w.blank
		item.Start = start
		items = []heat.Item{item}
	}
	counted := Window - max(0, w.countFrom.Sub(start))
	meanLost := delivered.lost.Seconds() / float64(max(1, len(w.counters)))
	coverage := (counted.Seconds() - meanLost) / Window.Seconds()
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
