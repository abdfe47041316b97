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
// With a tumbling window, most writes go to the window own, which the state carries from one delivery to the next. If
// the tumbling window contains several windows, each of them is own in turn. The counts of a quiet one are then held in
// the state until the tumbling window ends. All other windows are reported with the batch.
type counts struct {
	settings Settings
	batch    *ddbstream.Batch
	length   time.Duration                 // of windows
	own      *heat.WindowCounter           // nil without a tumbling window
	past     []*heat.WindowCounter         // were own earlier in this batch
	others   map[int64]*heat.WindowCounter // by their index: see window
	held     []heat.Item                   // of quiet windows, in order of time

	dropped  error // why the batch's state was dropped; nil if it was not
	lost     bool  // a state of the tumbling window was dropped, so all its later windows are incomplete
	timeless int   // counted records without a creation time

	// An unreadable record does not fail the batch: retries would delay the detector and not make it readable. Its
	// windows are marked incomplete, so that they prove nothing.
	unreadable int
	unread     error // the error of the first unreadable record
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
	if tumbling := batch.WindowEnd.Sub(batch.WindowStart); !s.holds() || tumbling != s.Hold {
		c.length = tumbling
	}
	c.own = heat.NewWindowCounter(batch.WindowStart, c.length, s.TopK)
	if len(batch.State) == 0 {
		return c
	}
	own, err := heat.ResumeWindow(batch.State, batch.WindowStart, batch.WindowEnd, c.length, s.TopK)
	if held := batch.State[heldField]; err == nil && held != "" {
		c.held, err = heat.DecodeHeld(held, batch.StreamShard())
	}
	if err == nil {
		c.own, c.lost = own, batch.State[lostField] != ""
	} else {
		c.dropped, c.lost, c.own.Incomplete = err, true, true
	}
	if c.lost && c.over() {
		c.advance(batch.WindowEnd.Add(-c.length))
	}
	return c
}

// advance moves own forward to the window that begins at start. The windows before that one go to past.
func (c *counts) advance(start time.Time) {
	for c.own.Start.Before(start) {
		c.past = append(c.past, c.own)
		c.own = heat.NewWindowCounter(c.own.Start.Add(c.length), c.length, c.settings.TopK)
		c.own.Incomplete = c.lost
	}
}

// addWrites counts the writes. It skips records that the state has counted already, since Lambda may redeliver them. A
// record without a time, as in a test event, is counted at the time of the invocation.
func (c *counts) addWrites(writes iter.Seq[heat.Write], now time.Time) {
	timeless, last := "", "" // sequence numbers of the last record without a time, and of the last record
	for w := range writes {
		if c.own != nil && !c.own.Follows(w.Sequence) {
			continue
		}
		last = string(w.Sequence)
		if w.At.IsZero() {
			timeless = last
		}
		switch {
		case w.Err == nil && w.At.IsZero():
			c.timeless++
			w.At = c.within(now)
			c.window(w.At).Add(&w)
		case w.Err == nil:
			c.window(w.At).Add(&w)
		default:
			c.miss(&w)
		}
	}
	if timeless != "" {
		c.missEverywhere(timeless, now)
	}
	if last != "" && c.own != nil {
		c.own.Delivered(last)
	}
}

// within returns the instant of the tumbling window, if there is one, that is nearest to now. So redelivered records
// are counted in the same window.
func (c *counts) within(now time.Time) time.Time {
	switch {
	case c.own == nil:
		return now
	case now.Before(c.batch.WindowStart):
		return c.batch.WindowStart
	case !now.Before(c.batch.WindowEnd):
		return c.batch.WindowEnd.Add(-time.Millisecond)
	}
	return now
}

// miss notes a record that can't be counted.
func (c *counts) miss(w *heat.Write) {
	c.unreadable++
	if c.unread == nil {
		c.unread = w.Err
	}
	if !w.At.IsZero() {
		c.window(w.At).Miss(string(w.Sequence))
	}
}

// missEverywhere marks all windows of the batch as incomplete, because a record without a time may belong to any of
// them.
func (c *counts) missEverywhere(sequence string, now time.Time) {
	if c.own == nil && len(c.others) == 0 {
		c.window(now)
	}
	for _, w := range c.all() {
		w.Miss(sequence)
	}
}

func (c *counts) all() []*heat.WindowCounter {
	all := slices.AppendSeq(slices.Clone(c.past), maps.Values(c.others))
	if c.own != nil {
		all = append(all, c.own)
	}
	return all
}

// window returns the window that contains an instant. Windows are aligned with the tumbling window, or else with the
// Unix epoch.
func (c *counts) window(at time.Time) *heat.WindowCounter {
	base := int64(0) // milliseconds of the Unix epoch
	if c.own != nil {
		base = c.batch.WindowStart.UnixMilli()
	}
	offset, step := at.UnixMilli()-base, c.length.Milliseconds()
	n := offset / step
	if offset%step < 0 {
		n-- // an instant before the base
	}
	start := time.UnixMilli(base + n*step)
	if c.own != nil && !start.Before(c.own.Start) && start.Before(c.batch.WindowEnd) {
		c.advance(start)
		return c.own
	}
	if c.others[n] == nil {
		c.others[n] = heat.NewWindowCounter(start, c.length, c.settings.TopK)
	}
	return c.others[n]
}

// over reports whether the tumbling window has ended, or was terminated early and continues with an empty state.
func (c *counts) over() bool { return c.batch.Final || c.batch.TerminatedEarly }

// running returns the own window as counted so far. It returns nil if the window is over, or has too few units for a
// hot key.
func (c *counts) running() []heat.Item {
	if c.own == nil || c.over() {
		return nil
	}
	hotUnits := c.settings.hotRate() * c.own.Length.Seconds()
	if table, indexes := c.own.Units(); float64(table) < hotUnits && float64(indexes) < hotUnits {
		return nil
	}
	return []heat.Item{c.item(c.own, "", "")}
}

// ended returns the items to report, in order of time, and moves the quiet ones to held. It is called once, after addWrites.
//
// An item's Part is the sequence number of its first record, so a redelivery replaces the item. A window that continues
// after an early end has an item for each part.
func (c *counts) ended(now time.Time) []heat.Item {
	var items []heat.Item
	for _, w := range c.others {
		items = append(items, c.sharedItem(w))
	}
	own := c.past
	if c.own != nil && c.over() {
		own = append(own, c.own)
	}
	for _, w := range own {
		it := c.item(w, c.batch.StreamShard(), cmp.Or(w.First(), "none")) // none if a state was dropped
		if c.batch.TerminatedEarly && w == c.own {
			it = c.sharedItem(w)
		}
		switch {
		case w.Records == 0 && !w.Incomplete: // nothing to report
		case c.settings.holds() && c.length < c.settings.Hold && c.settings.quiet(w):
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

// release returns the held windows when the tumbling window is over, else nil. The windows of each list are stored in
// one item.
func (c *counts) release(now time.Time) (lists [][]heat.Item) {
	if !c.over() {
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
	if c.own == nil || c.over() {
		return nil
	}
	state := c.own.State()
	if len(c.held) > 0 {
		state[heldField] = heat.EncodeHeld(c.held)
	}
	if c.lost {
		state[lostField] = "1"
	}
	return state
}

// sharedItem returns the item of a window of which other deliveries may have records, too. Its Last is the batch's, since
// a redelivery of less of the batch has other parts.
func (c *counts) sharedItem(w *heat.WindowCounter) heat.Item {
	it := c.item(w, c.batch.StreamShard(), cmp.Or(w.First(), "none"))
	if n := len(c.batch.Records); n > 0 {
		it.Last = string(c.batch.Records[n-1].Sequence)
	}
	return it
}

func (c *counts) item(w *heat.WindowCounter, streamShard, part string) heat.Item {
	return w.Item(streamShard, part, float64(c.settings.PartitionWCU), c.settings.hotRate())
}
