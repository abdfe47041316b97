package hotkey

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/heat/count"
)

// counts files the writes of a batch under the windows in which they were made.
// With a tumbling window that is, as a rule, always the same one, own, which goes
// from one delivery to the next. A record that was made at another time, late or
// after an outage, counts for that time, so that catching up heats nothing; such
// windows, and all windows without a tumbling one, are reported with the batch.
type counts struct {
	settings Settings
	batch    *ddbstream.Batch
	own      *count.Window // nil without a tumbling window
	others   map[int64]*count.Window

	oldest, newest time.Time // the records that were counted; zero for none
	dropped        error     // why the batch's state was, if it was

	// Unreadable records hold up nothing: a detector that waits for one record to be given
	// up is blind for as long, and has no record less to miss afterwards. Their windows are
	// incomplete, so that nothing is proved by them.
	unreadable int
	unread     error // the first one's
}

// newCounts goes on with the batch's window as far as it was counted.
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

// add counts the writes that can be. Lambda may deliver records again whose counts its
// state has already: they are passed over.
func (c *counts) add(writes iter.Seq[count.Write], now time.Time) {
	anywhere, last := "", "" // a record whose time is not known; the last one
	for w := range writes {
		if c.own != nil && !c.own.Follows(w.Sequence) {
			continue
		}
		last = string(w.Sequence)
		if w.Err == nil {
			c.window(w.At).Add(&w)
			c.see(w.At)
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
	if anywhere != "" { // it is of any window that the batch has to do with, or of now
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

func (c *counts) see(at time.Time) {
	if c.newest.IsZero() || at.Before(c.oldest) {
		c.oldest = at
	}
	if at.After(c.newest) {
		c.newest = at
	}
}

func (c *counts) all() []*count.Window {
	all := slices.Collect(maps.Values(c.others))
	if c.own != nil {
		all = append(all, c.own)
	}
	return all
}

// window returns the window that holds an instant. Without a tumbling window they
// are aligned with the Unix epoch, else with that one.
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

// over says that the batch's own window has ended, or is interrupted and will go on with an
// empty state.
func (c *counts) over() bool { return c.batch.Final || c.batch.TerminatedEarly }

// running is what the batch's own window would come to if no record came any more; nothing
// if it is over, or surely has no hot key, which is the usual case.
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

// ended is what there is to report, in order of time.
//
// An item that stands for its whole window has no part. Every other is one of
// several and is told apart by its first record, which stays the same however
// often the batch is delivered again.
func (c *counts) ended(now time.Time) []heat.Item {
	var items []heat.Item
	for _, w := range c.others {
		items = append(items, c.item(w, c.batch.ShardID, w.First()))
	}
	if c.own != nil && c.over() && (c.own.Records > 0 || c.own.Incomplete) {
		part := ""
		if c.batch.TerminatedEarly {
			part = cmp.Or(c.own.First(), "none") // none: a state was dropped, and no record came
		}
		items = append(items, c.item(c.own, c.batch.ShardID, part))
	}
	for i := range items { // what came before may have been given up
		items[i].Incomplete = items[i].Incomplete || now.Sub(items[i].End()) > RecordAge/2
	}
	slices.SortFunc(items, func(a, b heat.Item) int { return a.Start.Compare(b.Start) })
	return items
}

// state is what the batch's window hands on to its next delivery; nil if there is none.
func (c *counts) state() map[string]string {
	if c.own == nil || c.over() {
		return nil
	}
	return c.own.State()
}

func (c *counts) item(w *count.Window, streamShard, part string) heat.Item {
	return w.Item(streamShard, part, float64(c.settings.PartitionWCU), c.settings.hotRate())
}
