package live

import (
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// topKeys is the number of keys that a window counts singly, as in the detector.
const topKeys = 1000

// counting counts one stream shard's records in windows, and delivers windows that have ended. Time
// that was not read is a gap.
type counting struct {
	windows *windows
	id      string    // the stream shard's
	since   time.Time // older records are not counted
	newest  time.Time // newest record; used only by the stream shard's reader

	mu     sync.Mutex // guards what follows; taken before that of windows
	open   openWindows
	read   time.Time // all until then was read, except gaps
	gaps   []gap     // gaps that were not delivered
	passed time.Time // windows that end by then were delivered
}

// gap is a time whose records were not read.
type gap struct{ from, to time.Time }

func newCounting(w *windows, id string, from, passed time.Time) *counting {
	return &counting{windows: w, id: id, since: w.begin, newest: from, open: openWindows{}, read: from, passed: passed}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (c *counting) countWrites(writes iter.Seq[heat.Write]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range writes {
		c.addWrite(&w)
	}
}

// addWrite counts a write in its window. The caller holds mu.
func (c *counting) addWrite(w *heat.Write) {
	if w.At.IsZero() {
		c.open.miss(w)
		return
	}
	c.newest = later(c.newest, w.At)
	if !w.At.Before(c.since) {
		c.open.count(w, c.windows.startOf(w.At))
	}
}

// openWindows has a stream shard's windows that have not ended, by their start in Unix seconds.
type openWindows map[int64]*heat.WindowCounter

// miss notes a write without a time, which may belong to any window.
func (o openWindows) miss(w *heat.Write) {
	for _, window := range o {
		window.Miss(string(w.Sequence))
	}
}

// count counts a write in the window of this start.
func (o openWindows) count(w *heat.Write, start time.Time) {
	window := o[start.Unix()]
	if window == nil {
		window = heat.NewWindowCounter(start, Window, topKeys)
		o[start.Unix()] = window
	}
	if w.Err != nil {
		window.Miss(string(w.Sequence))
		return
	}
	window.Add(w)
}

// skip adds a gap from the last time read to a time.
func (c *counting) skip(to time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gaps = append(c.gaps, gap{c.read, to})
	c.read, c.newest = to, to
}

// readTo records that all before a time was read, and delivers the windows that have ended.
func (c *counting) readTo(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = later(c.read, t)
	c.deliverTo(c.read.Add(-grace))
}

// deliverTo delivers the windows that end by a time. The caller holds mu.
func (c *counting) deliverTo(to time.Time) {
	for start, window := range c.open {
		end := window.Start.Add(window.Length)
		if end.After(to) {
			continue
		}
		part := ""
		if !end.After(c.passed) { // late records: an item of their own, beside the one that was delivered
			part = window.First()
		}
		item := c.item(window, part)
		c.windows.addCounts(&item, window.Start, 0)
		delete(c.open, start)
	}
	if to.After(c.passed) {
		c.deliverGaps(to)
		c.passed = to
	}
}

// deliverGaps delivers the gaps in the windows that end by a time. The caller holds mu.
func (c *counting) deliverGaps(to time.Time) {
	for i := range c.gaps {
		g := &c.gaps[i]
		for g.from.Before(g.to) {
			start := c.windows.startOf(g.from)
			end := start.Add(Window)
			if end.After(to) {
				break
			}
			upTo := end
			if g.to.Before(end) {
				upTo = g.to
			}
			c.windows.addCounts(nil, start, upTo.Sub(g.from))
			g.from = end
		}
	}
	c.gaps = slices.DeleteFunc(c.gaps, func(g gap) bool { return !g.from.Before(g.to) })
}

func (c *counting) item(w *heat.WindowCounter, part string) heat.Item {
	like := &c.windows.blank
	item := w.Item(c.id, part, like.Limit, like.HotRate)
	item.Table = like.Table
	return item
}

// finish delivers all counts, after the last record.
func (c *counting) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, window := range c.open {
		item := c.item(window, "")
		c.windows.addCounts(&item, window.Start, 0)
	}
	clear(c.open)
	c.deliverGaps(c.windows.startOf(c.read).Add(Window))
}

func (c *counting) passedBy() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.passed
}

// readUntil returns the time until which the stream shard was read.
func (c *counting) readUntil() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read
}
