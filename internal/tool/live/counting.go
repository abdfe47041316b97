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

// shardCounter counts one stream shard's records in windows, and delivers its counts of windows that have ended to the
// windows of all stream shards. Time that was not read is a gap.
type shardCounter struct {
	windows *windows
	id      string    // the stream shard's
	since   time.Time // older records are not counted
	newest  time.Time // newest record; used only by the stream shard's reader

	mu          sync.Mutex // guards what follows; taken before that of windows
	open        openWindows
	read        time.Time // all until then was read, except gaps
	gaps        []gap     // gaps that were not delivered
	deliveredTo time.Time // windows that end by then were delivered
}

// gap is a time whose records were not read.
type gap struct{ from, to time.Time }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (c *shardCounter) countWrites(writes iter.Seq[heat.Write]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range writes {
		c.addWrite(&w)
	}
}

// addWrite counts a write in its window. The caller holds mu.
func (c *shardCounter) addWrite(write *heat.Write) {
	if write.At.IsZero() {
		c.open.addUndated(write)
		return
	}
	c.newest = later(c.newest, write.At)
	if !write.At.Before(c.since) {
		c.open.count(write, c.windows.startOf(write.At))
	}
}

// openWindows has a stream shard's windows that have not ended, by their start in Unix seconds.
type openWindows map[int64]*heat.WindowCounter

// addUndated marks all windows as lacking a write, because a write without a time may belong to any of them.
func (o openWindows) addUndated(write *heat.Write) {
	for _, window := range o {
		window.Miss(string(write.Sequence))
	}
}

// count counts a write in the window of this start.
func (o openWindows) count(write *heat.Write, start time.Time) {
	window := o[start.Unix()]
	if window == nil {
		window = heat.NewWindowCounter(start, Window, topKeys)
		o[start.Unix()] = window
	}
	if write.Err != nil {
		window.Miss(string(write.Sequence))
		return
	}
	window.Add(write)
}

// addGapTo adds a gap from the time until which all was read, to a later time.
func (c *shardCounter) addGapTo(to time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gaps = append(c.gaps, gap{c.read, to})
	c.read, c.newest = to, to
}

// advanceTo records that all until t was read, and delivers the windows that have ended by then.
func (c *shardCounter) advanceTo(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = later(c.read, t)
	c.deliverTo(c.read.Add(-grace))
}

// deliverTo delivers the windows that end by a time. The caller holds mu.
func (c *shardCounter) deliverTo(to time.Time) {
	for start, window := range c.open {
		end := window.Start.Add(window.Length)
		if end.After(to) {
			continue
		}
		lateID := ""
		if !end.After(c.deliveredTo) { // late records get an item beside the delivered item of the window
			lateID = window.First()
		}
		item := c.newItem(window, lateID)
		c.windows.addCounts(&item, window.Start, 0)
		delete(c.open, start)
	}
	if to.After(c.deliveredTo) {
		c.deliverGaps(to)
		c.deliveredTo = to
	}
}

// deliverGaps delivers the gaps in the windows that end by a time. The caller holds mu.
func (c *shardCounter) deliverGaps(to time.Time) {
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

// newItem returns a window's counts as an item. lateID is "" for the item that is stored when the window ends. Items of
// records that come later have another lateID each.
func (c *shardCounter) newItem(w *heat.WindowCounter, lateID string) heat.Item {
	blank := &c.windows.blank
	item := w.Item(c.id, lateID, blank.Limit, blank.HotRate)
	item.Table = blank.Table
	return item
}

// finish delivers all counts, after the last record.
func (c *shardCounter) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, window := range c.open {
		item := c.newItem(window, "")
		c.windows.addCounts(&item, window.Start, 0)
	}
	clear(c.open)
	c.deliverGaps(c.windows.startOf(c.read).Add(Window))
}

func (c *shardCounter) deliveredUntil() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deliveredTo
}

// readUntil returns the time until which the stream shard was read.
func (c *shardCounter) readUntil() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read
}
