package hotkeys

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/heat"
)

// counts adds the writes of a batch to the windows in which they were made, so that late records make no key hot.
//
// With a tumbling window, most writes go to the current window, which the state carries from one delivery to the next. If
// the tumbling window contains several windows, they become current one after another. Then the state holds the counts of
// quiet windows until the tumbling window ends. All other windows are reported with the batch.
type counts struct {
	settings Settings
	batch    *ddbstream.Batch
	length   time.Duration                 // of windows
	current  *heat.WindowCounter           // nil without a tumbling window
	previous []*heat.WindowCounter         // were current earlier in this batch
	others   map[int64]*heat.WindowCounter // by their index: see windowAt
	held     []heat.Item                   // of quiet windows, in order of time

	stateFault  error // why the batch's state was dropped; nil if it was not
	lost        bool  // a state of the tumbling window was dropped, so all its later windows are incomplete
	withoutTime int   // counted records without a creation time

	// An unreadable record does not fail the batch: retries would delay the detector and not make it readable. Its
	// windows are marked incomplete, so that they prove nothing.
	unreadable int
	firstFault error // the error of the first unreadable record
}

// Fields of the window state: the held windows in base64, and whether an earlier state was dropped.
const (
	heldField = "held"
	lostField = "lost"
)

// newCounts resumes the batch's window from its state.
func newCounts(s Settings, batch *ddbstream.Batch) *counts {
	c := &counts{settings: s, batch: batch, length: s.Window, others: make(map[int64]*heat.WindowCounter)}
	if !batch.Windowed {
		return c
	}
	tumbling := batch.WindowEnd.Sub(batch.WindowStart)
	if hasSeveralWindows := s.holds() && tumbling == s.Hold; !hasSeveralWindows {
		c.length = tumbling
	}
	c.current = heat.NewWindowCounter(batch.WindowStart, c.length, s.TopK)
	if len(batch.State) == 0 {
		return c
	}
	resumed, err := heat.ResumeWindow(batch.State, batch.WindowStart, batch.WindowEnd, c.length, s.TopK)
	if held := batch.State[heldField]; err == nil && held != "" {
		c.held, err = heat.DecodeHeld(held, batch.StreamShard())
	}
	if err == nil {
		c.current, c.lost = resumed, batch.State[lostField] != ""
	} else {
		c.stateFault, c.lost, c.current.Incomplete = err, true, true
	}
	if c.lost && c.tumblingOver() { // the remaining windows are also incomplete
		c.advance(batch.WindowEnd.Add(-c.length))
	}
	return c
}

// advance makes the window that begins at start the current one. The windows before it become previous ones.
func (c *counts) advance(start time.Time) {
	for c.current.Start.Before(start) {
		c.previous = append(c.previous, c.current)
		c.current = heat.NewWindowCounter(c.current.Start.Add(c.length), c.length, c.settings.TopK)
		c.current.Incomplete = c.lost
	}
}

// addWrites counts the writes, except records that the state has counted already: Lambda may redeliver them. A record
// without a time, as in a test event, counts at the time of the invocation, and marks all windows as incomplete.
func (c *counts) addWrites(writes iter.Seq[heat.Write], now time.Time) {
	lastWithoutTime, last := "", "" // sequence numbers
	for w := range writes {
		if c.current != nil && !c.current.Follows(w.Sequence) {
			continue
		}
		last = string(w.Sequence)
		if w.At.IsZero() {
			lastWithoutTime = last
		}
		if w.Err != nil {
			c.addUnreadable(&w)
			continue
		}
		if w.At.IsZero() {
			c.withoutTime++
			w.At = c.clamp(now)
		}
		c.windowAt(w.At).Add(&w)
	}
	if lastWithoutTime != "" {
		c.markAllIncomplete(lastWithoutTime, now)
	}
	if last != "" && c.current != nil {
		c.current.Delivered(last)
	}
}

// clamp returns the instant of the tumbling window that is nearest to now, so that a redelivery counts records in the same
// window. Without a tumbling window it returns now.
func (c *counts) clamp(now time.Time) time.Time {
	switch {
	case c.current == nil:
		return now
	case now.Before(c.batch.WindowStart):
		return c.batch.WindowStart
	case !now.Before(c.batch.WindowEnd):
		return c.batch.WindowEnd.Add(-time.Millisecond)
	}
	return now
}

// addUnreadable counts a record that can't be read, and marks its window as incomplete if the record has a time.
func (c *counts) addUnreadable(w *heat.Write) {
	c.unreadable++
	if c.firstFault == nil {
		c.firstFault = w.Err
	}
	if !w.At.IsZero() {
		c.windowAt(w.At).Miss(string(w.Sequence))
	}
}

// markAllIncomplete marks all windows of the batch as incomplete, because a record without a time may belong to any of
// them. If the batch has no window, it makes that of now.
func (c *counts) markAllIncomplete(sequence string, now time.Time) {
	if c.current == nil && len(c.others) == 0 {
		c.windowAt(now)
	}
	for _, w := range c.windows() {
		w.Miss(sequence)
	}
}

// windows returns all windows of the batch, in any order.
func (c *counts) windows() []*heat.WindowCounter {
	all := slices.AppendSeq(slices.Clone(c.previous), maps.Values(c.others))
	if c.current != nil {
		all = append(all, c.current)
	}
	return all
}

// windowAt returns the window that contains an instant, which it creates if needed. A later window of the tumbling window
// becomes the current one. Windows are aligned with the tumbling window, or else with the Unix epoch.
func (c *counts) windowAt(at time.Time) *heat.WindowCounter {
	origin := int64(0) // the start of window 0, in milliseconds
	if c.current != nil {
		origin = c.batch.WindowStart.UnixMilli()
	}
	offset, step := at.UnixMilli()-origin, c.length.Milliseconds()
	n := offset / step
	if offset%step < 0 {
		n-- // an instant before the origin
	}
	start := time.UnixMilli(origin + n*step)
	if c.current != nil && !start.Before(c.current.Start) && start.Before(c.batch.WindowEnd) {
		c.advance(start)
		return c.current
	}
	if c.others[n] == nil {
		c.others[n] = heat.NewWindowCounter(start, c.length, c.settings.TopK)
	}
	return c.others[n]
}

// tumblingOver reports whether the tumbling window has ended, or was terminated early and continues with an empty state.
func (c *counts) tumblingOver() bool { return c.batch.Final || c.batch.TerminatedEarly }

// runningItems returns the item of the current window as counted so far. It returns nil if the tumbling window is over, or
// if the current window has too few units for a hot key.
func (c *counts) runningItems() []heat.Item {
	if c.current == nil || c.tumblingOver() {
		return nil
	}
	hotUnits := c.settings.hotRate() * c.current.Length.Seconds()
	if table, indexes := c.current.Units(); float64(table) < hotUnits && float64(indexes) < hotUnits {
		return nil
	}
	return []heat.Item{c.item(c.current, "", "")}
}

// endedItems returns the items to report, in order of time, and moves the quiet items to held. Call it once, after
// addWrites.
//
// An item's Part is the sequence number of its first record, so a redelivery replaces the item. It is "none" if the window
// has no record, since the state of earlier deliveries was dropped. A window that continues after an early end has an item
// for each part.
func (c *counts) endedItems(now time.Time) []heat.Item {
	var items []heat.Item
	for _, w := range c.others {
		items = append(items, c.sharedItem(w))
	}
	carried := c.previous
	if c.current != nil && c.tumblingOver() {
		carried = append(carried, c.current)
	}
	for _, w := range carried {
		it := c.item(w, c.batch.StreamShard(), partOf(w))
		if c.batch.TerminatedEarly && w == c.current {
			it = c.sharedItem(w) // the window goes on in later deliveries
		}
		switch {
		case w.Records == 0 && !w.Incomplete: // nothing to report
		case c.settings.holds() && c.length < c.settings.Hold && c.settings.isQuiet(w):
			c.held = append(c.held, it.Heaviest(heat.HeldKeys))
		case c.settings.holds():
			items = append(items, it.Heaviest(heat.BusyKeys))
		default:
			items = append(items, it)
		}
	}
	markOld(items, now)
	slices.SortFunc(items, func(a, b heat.Item) int { return a.Start.Compare(b.Start) })
	return items
}

// markOld marks the items of old windows as incomplete, because Lambda may have discarded records of them.
func markOld(items []heat.Item, now time.Time) {
	for i := range items {
		items[i].Incomplete = items[i].Incomplete || now.Sub(items[i].End()) > RecordAge/2
	}
}

// heldItems returns the held windows when the tumbling window is over, else nil. Each list is for one stored item.
func (c *counts) heldItems(now time.Time) (lists [][]heat.Item) {
	if !c.tumblingOver() {
		return nil
	}
	markOld(c.held, now)
	period := func(it heat.Item) time.Time { return heat.AlignDown(it.Start, heat.MaxHold) }
	for i, it := range c.held {
		if i == 0 || !period(it).Equal(period(c.held[i-1])) {
			lists = append(lists, nil)
		}
		lists[len(lists)-1] = append(lists[len(lists)-1], it)
	}
	return lists
}

// state returns the window state for the next delivery, or nil if there is none.
func (c *counts) state() map[string]string {
	if c.current == nil || c.tumblingOver() {
		return nil
	}
	state := c.current.State()
	if len(c.held) > 0 {
		state[heldField] = heat.EncodeHeld(c.held)
	}
	if c.lost {
		state[lostField] = "1"
	}
	return state
}

// sharedItem returns the item of a window of which other deliveries may also have records. Its Last is the batch's last
// sequence number: see [heat.Item].
func (c *counts) sharedItem(w *heat.WindowCounter) heat.Item {
	it := c.item(w, c.batch.StreamShard(), partOf(w))
	if n := len(c.batch.Records); n > 0 {
		it.Last = string(c.batch.Records[n-1].Sequence)
	}
	return it
}

// partOf returns the Part of a window's item: see endedItems.
func partOf(w *heat.WindowCounter) string { return cmp.Or(w.First(), "none") }

// item returns the counts of a window as an item with this stream shard and part.
func (c *counts) item(w *heat.WindowCounter, streamShard, part string) heat.Item {
	return w.Item(streamShard, part, float64(c.settings.PartitionWCU), c.settings.hotRate())
}
