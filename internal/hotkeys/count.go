package hotkeys

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/heat/count"
)

// counts adds the writes of a batch to the windows in which they were made. With a tumbling window that is usually own,
// which is carried from one delivery to the next. Late records count for the time when they were made, so that catching
// up makes no key hot. Their windows are reported with the batch; without a tumbling window all are.
type counts struct {
	settings Settings
	batch    *ddbstream.Batch
	own      *count.Window // nil without a tumbling window
	others   map[int64]*count.Window

	dropped error // why the batch's state was dropped, if it was

	// An unreadable record does not fail the batch: retries would delay the detector and not make it readable. Its
	// windows are marked incomplete, so that they prove nothing.
	unreadable int
	unread     error // the error of the first unreadable record
}

// newCounts resumes the batch's window from its state.
func newCounts(s Settings, batch *ddbstream.Batch) *counts {
	c := &counts{settings: s, batch: batch, others: make(map[int64]*count.Window)}
	if !batch.Windowed {
		return c
	}
	length := batch.WindowEnd.Sub(batch.WindowStart)
	c.own = count.NewWindow(batch.WindowStart, length, s.TopK)
	if len(batch.State) == 0 {
		return c
	}
	own, err := count.Resume(batch.State, batch.WindowStart, length, s.TopK)
	if err != nil {
		c.dropped, c.own.Incomplete = err, true
		return c
	}
	c.own = own
	return c
}

// addWrites counts the writes. It skips records that the state has counted already, since Lambda may redeliver them.
func (c *counts) addWrites(writes iter.Seq[count.Write], now time.Time) {
	anywhere, last := "", "" // sequence numbers of a record without a time, and of the last record
	for w := range writes {
		if c.own != nil && !c.own.Follows(w.Sequence) {
			continue
		}
		last = string(w.Sequence)
		if w.Err == nil {
			c.window(w.At).Add(&w)
			continue
		}
		if c.unreadable++; c.unread == nil {
			c.unread = w.Err
		}
		if w.At.IsZero() {
			anywhere = last
			continue
		}
		c.window(w.At).Miss(last)
	}
	if anywhere != "" { // it may belong to any window of the batch
		if c.own == nil && len(c.others) == 0 {
			c.window(now)
		}
		for _, w := range c.all() {
			w.Miss(anywhere)
		}
	}
	if last != "" && c.own != nil {
		c.own.Delivered(last)
	}
}

func (c *counts) all() []*count.Window {
	all := slices.Collect(maps.Values(c.others))
	if c.own != nil {
		all = append(all, c.own)
	}
	return all
}

// window returns the window that contains an instant. Windows are aligned with the tumbling window, or else with the
// Unix epoch.
func (c *counts) window(at time.Time) *count.Window {
	base, length := int64(0), c.settings.Window // milliseconds of the Unix epoch
	if c.own != nil {
		base, length = c.own.Start.UnixMilli(), c.own.Length
	}
	offset, step := at.UnixMilli()-base, length.Milliseconds()
	n := offset / step
	if offset%step < 0 {
		n-- // an instant before the base
	}
	if n == 0 && c.own != nil {
		return c.own
	}
	if c.others[n] == nil {
		c.others[n] = count.NewWindow(time.UnixMilli(base+n*step), length, c.settings.TopK)
	}
	return c.others[n]
}

// over reports whether the batch's own window has ended, or is interrupted and goes on with an empty state.
func (c *counts) over() bool { return c.batch.Final || c.batch.TerminatedEarly }

// running returns the batch's own window as counted so far. It returns nil if the window is over, or surely has no hot
// key, which is the usual case.
func (c *counts) running() []heat.Item {
	if c.own == nil || c.over() {
		return nil
	}
	budget := c.settings.hotRate() * c.own.Length.Seconds()
	if table, indexes := c.own.Units(); float64(table) < budget && float64(indexes) < budget {
		return nil
	}
	return []heat.Item{c.item(c.own, "", "")}
}

// ended returns the items to report, in order of time.
//
// An item for a whole window has no part. If a window has several items, each is identified by its first record, which
// redelivery does not change.
func (c *counts) ended(now time.Time) []heat.Item {
	var items []heat.Item
	for _, w := range c.others {
		items = append(items, c.item(w, c.batch.StreamShard(), w.First()))
	}
	if c.own != nil && c.over() && (c.own.Records > 0 || c.own.Incomplete) {
		part := ""
		if c.batch.TerminatedEarly {
			part = cmp.Or(c.own.First(), "none") // a state was dropped, and the window has no record
		}
		items = append(items, c.item(c.own, c.batch.StreamShard(), part))
	}
	for i := range items { // earlier records may have been discarded
		items[i].Incomplete = items[i].Incomplete || now.Sub(items[i].End()) > RecordAge/2
	}
	slices.SortFunc(items, func(a, b heat.Item) int { return a.Start.Compare(b.Start) })
	return items
}

// state returns the window state for the next delivery, or nil if there is none.
func (c *counts) state() map[string]string {
	if c.own == nil || c.over() {
		return nil
	}
	return c.own.State()
}

func (c *counts) item(w *count.Window, streamShard, part string) heat.Item {
	return w.Item(streamShard, part, float64(c.settings.PartitionWCU), c.settings.hotRate())
}
