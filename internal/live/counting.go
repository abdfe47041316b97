package live

import (
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/heat/count"
)

// topKeys is how many keys a window tells apart, as the detector's.
const topKeys = 1000

// counting is what one stream shard's records are counted in: windows, which it hands on when
// they are over. What was not read is a gap.
type counting struct {
	windows *windows
	id      string    // the stream shard's
	newest  time.Time // record; only the reading of the stream shard touches it

	mu     sync.Mutex              // guards what follows; taken before that of windows
	open   map[int64]*count.Window // by start, in seconds
	read   time.Time               // all until then was read, but for gaps
	gaps   []gap                   // that were not handed on
	passed time.Time               // windows that end by then were handed on
}

// gap is a time of which records were not read.
type gap struct{ from, to time.Time }

func newCounting(w *windows, id string, from, passed time.Time) *counting {
	return &counting{windows: w, id: id, newest: from, open: make(map[int64]*count.Window), read: from, passed: passed}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// add counts writes.
func (c *counting) add(writes iter.Seq[count.Write]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range writes {
		c.file(&w)
	}
}

// file counts a write in its window. The caller holds mu.
func (c *counting) file(w *count.Write) {
	if w.At.IsZero() { // it may be of any window that is open
		for _, window := range c.open {
			window.Miss(string(w.Sequence))
		}
		return
	}
	c.newest = later(c.newest, w.At)
	if w.At.Before(c.windows.begin) {
		return
	}
	window := c.window(w.At)
	if w.Err != nil {
		window.Miss(string(w.Sequence))
		return
	}
	window.Add(w)
}

// window is the one that a time is in. The caller holds mu.
func (c *counting) window(at time.Time) *count.Window {
	start := c.windows.startOf(at)
	if c.open[start.Unix()] == nil {
		c.open[start.Unix()] = count.NewWindow(start, Window, topKeys)
	}
	return c.open[start.Unix()]
}

// skip leaves a gap from what was read to a time.
func (c *counting) skip(to time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gaps = append(c.gaps, gap{c.read, to})
	c.read, c.newest = to, to
}

// readTo says that all before a time was read, and hands on the windows that are over.
func (c *counting) readTo(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = later(c.read, t)
	c.passTo(c.read.Add(-grace))
}

// passTo hands on the windows that end by then. The caller holds mu.
func (c *counting) passTo(to time.Time) {
	for start, window := range c.open {
		end := window.Start.Add(window.Length)
		if end.After(to) {
			continue
		}
		part := ""
		if !end.After(c.passed) { // it came late
			part = window.First()
		}
		item := c.item(window, part)
		c.windows.hand(&item, window.Start, 0)
		delete(c.open, start)
	}
	if to.After(c.passed) {
		c.handGaps(to)
		c.passed = to
	}
}

// handGaps tells what was not read of the windows that are over by then. The caller holds mu.
func (c *counting) handGaps(to time.Time) {
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
			c.windows.hand(nil, start, upTo.Sub(g.from))
			g.from = end
		}
	}
	c.gaps = slices.DeleteFunc(c.gaps, func(g gap) bool { return !g.from.Before(g.to) })
}

func (c *counting) item(w *count.Window, part string) heat.Item {
	like := &c.windows.blank
	item := w.Item(c.id, part, like.Limit, like.HotRate)
	item.Table = like.Table
	return item
}

// finish hands on all that there is: no record comes any more.
func (c *counting) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, window := range c.open {
		item := c.item(window, "")
		c.windows.hand(&item, window.Start, 0)
	}
	clear(c.open)
	c.handGaps(c.windows.startOf(c.read).Add(Window))
}

func (c *counting) passedBy() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.passed
}

// running are the windows that are open.
func (c *counting) running() (items []heat.Item) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, window := range c.open {
		items = append(items, c.item(window, ""))
	}
	return items
}
