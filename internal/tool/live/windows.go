package live

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// windows collects the counts that the shardCounters deliver, and keeps complete windows in its history. A window is complete
// when all stream shards have delivered their counts of it.
type windows struct {
	blank  heat.Item // item of a window without writes, without the start time
	atOnce bool      // Options.AtOnce

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

// start sets the time from which records are counted, and the start of the first window.
func (w *windows) start(begin time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.countFrom, w.firstStart = begin, begin
	if !w.atOnce {
		w.firstStart = begin.Truncate(Window)
	}
	w.historyEnd = w.firstStart
}

// startCounting returns a new counter for a stream shard. From now on, windows are complete only with its counts.
func (w *windows) startCounting(id string) *shardCounter {
	w.mu.Lock()
	defer w.mu.Unlock()
	from := later(w.historyEnd, w.countFrom)
	counter := &shardCounter{windows: w, id: id, countFrom: w.countFrom, newest: from, open: openWindows{}, readTo: from, deliveredTo: w.historyEnd}
	w.counters[id] = counter
	return counter
}

// remove ends the counting of a stream shard that has delivered all its counts.
func (w *windows) remove(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.counters, id)
}

// startOf returns the start of the window that contains t.
func (w *windows) startOf(t time.Time) time.Time {
	return w.firstStart.Add(t.Sub(w.firstStart).Truncate(Window))
}

// addCounts adds a stream shard's counts of a window, nil for none, and lost: how much of the window it did not read.
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
	deliveredTo := w.deliveredByAll()
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.historyEnd.IsZero() {
		end := w.historyEnd.Add(Window)
		if end.After(deliveredTo) {
			break
		}
		delivered := w.open[w.historyEnd.Unix()]
		delete(w.open, w.historyEnd.Unix())
		w.history.addWindow(w.combine(w.historyEnd, delivered))
		w.historyEnd = end
	}
	for unix, late := range w.open {
		if start := time.Unix(unix, 0).UTC(); start.Before(w.historyEnd) {
			w.history.addLate(start, late.items)
			delete(w.open, unix)
		}
	}
}

// deliveredByAll returns the time until which all stream shards have delivered their counts; zero without stream shards.
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

// completeUntil returns the time until which windows are complete; zero before reading begins.
func (w *windows) completeUntil() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.historyEnd
}

// combine returns a window with the delivered counts, nil for none, and the items' coverage. The caller holds mu.
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

// leastCoverage is the coverage of a window of which nothing was read: in an item, 0 means that all was read.
const leastCoverage = 1e-9

// complete returns the complete windows that start at from or later, and before to.
func (w *windows) complete(from, to time.Time) []heat.Window {
	w.mu.Lock()
	defer w.mu.Unlock()
	return windowsBetween(w.history, from, to)
}
