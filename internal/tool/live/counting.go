package live

import (
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// topKeys is the number of keys that a window counts one by one, as in the detector.
const topKeys = 1000

// shardCounter counts one stream shard's records in windows. When a window ends, it adds the counts to those of all stream
// shards (windows). Time that was not read is a gap.
type shardCounter struct {
	windows   *windows
	id        string    // the stream shard's
	countFrom time.Time // older records are not counted
	newest    time.Time // time of the newest record; used only by the stream shard's reader

	mu          sync.Mutex // guards the fields below; locked before windows.mu
	open        openWindows
	readTo      time.Time // all until then was read, except gaps
	gaps        []gap     // gaps that were not delivered
	deliveredTo time.Time // windows that end by then were delivered
}

// gap is a time whose records were not read.
type gap struct{ from, to time.Time }

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// countWrites counts writes in their windows.
func (c *shardCounter) countWrites(writes iter.Seq[heat.Write]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for write := range writes {
		if write.At.IsZero() {
			c.open.missUndated(&write)
			continue
		}
		c.newest = later(c.newest, write.At)
		if !write.At.Before(c.countFrom) {
			c.open.count(&write, c.windows.startOf(write.At))
		}
	}
}

// openWindows has a stream shard's windows that have not ended, by their start in Unix seconds.
type openWindows map[int64]*heat.WindowCounter

// missUndated records in all windows that they may lack a write: a write without a time may belong to any of them.
func (o openWindows) missUndated(write *heat.Write) {
	for _, window := range o {
		window.Miss(string(write.Sequence))
	}
}

// count counts a write in the window that starts at a time. A write that can't be decoded is recorded as missed.
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

// skipTo records that nothing is read until a time: this is a gap.
func (c *shardCounter) skipTo(to time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gaps = append(c.gaps, gap{c.readTo, to})
	c.readTo, c.newest = to, to
}

// advanceTo records that the stream shard was read up to a time, and delivers the windows that ended at least grace before
// that time.
func (c *shardCounter) advanceTo(to time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readTo = later(c.readTo, to)
	c.deliverTo(c.readTo.Add(-grace))
}

// deliverTo delivers the windows that end by a time. The caller holds mu.
func (c *shardCounter) deliverTo(to time.Time) {
	for start, window := range c.open {
		end := window.Start.Add(window.Length)
		if end.After(to) {
			continue
		}
		lateID := ""
		if !end.After(c.deliveredTo) { // the window was delivered, so these are its late records
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
			lost := min(end.Sub(g.from), g.to.Sub(g.from))
			c.windows.addCounts(nil, start, lost)
			g.from = end
		}
	}
	c.gaps = slices.DeleteFunc(c.gaps, func(g gap) bool { return !g.from.Before(g.to) })
}

// newItem returns a window's counts as an item. lateID distinguishes the items of one window: "" for the item that is
// delivered when the window ends, and another for each item of records that come later.
func (c *shardCounter) newItem(window *heat.WindowCounter, lateID string) heat.Item {
	blank := &c.windows.blank
	item := window.Item(c.id, lateID, blank.Limit, blank.HotRate)
	item.Table = blank.Table
	return item
}

// finish delivers all counts and gaps, after the stream shard's last record.
func (c *shardCounter) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, window := range c.open {
		item := c.newItem(window, "")
		c.windows.addCounts(&item, window.Start, 0)
	}
	clear(c.open)
	c.deliverGaps(c.windows.startOf(c.readTo).Add(Window))
}

// deliveredUntil returns the time until which the stream shard's windows were delivered.
func (c *shardCounter) deliveredUntil() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deliveredTo
}

// readUntil returns the time until which the stream shard was read.
func (c *shardCounter) readUntil() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.readTo
}
