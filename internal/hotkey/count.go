package hotkey

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/topk"
)

// counts files the writes of a batch under the windows in which they were made.
// With a tumbling window that is, as a rule, always the same one, own, which goes
// from one delivery to the next. A record that was made at another time, late or
// after an outage, counts for that time, so that catching up heats nothing; such
// windows, and all windows without a tumbling one, are reported with the batch.
type counts struct {
	settings Settings
	batch    *ddbstream.Batch
	own      *window // nil without a tumbling window
	others   map[int64]*window

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
	c := &counts{settings: s, batch: batch, others: make(map[int64]*window)}
	if !batch.Windowed {
		return c
	}
	length := batch.WindowEnd.Sub(batch.WindowStart)
	c.own = newWindow(batch.WindowStart, length, s.limits())
	if len(batch.State) == 0 {
		return c
	}
	own, err := resume(batch.State, batch.WindowStart, length, s.limits())
	if err != nil {
		c.dropped, c.own.incomplete = err, true
		return c
	}
	c.own = own
	return c
}

func (s Settings) limits() topk.Limits { return topk.Limits{Entries: s.TopK, Bytes: maxKeyBytes} }

// add counts the writes that can be. Lambda may deliver records again whose counts its
// state has already: they are passed over.
func (c *counts) add(writes iter.Seq[write], now time.Time) {
	anywhere, last := "", "" // a record whose time is not known; the last one
	for w := range writes {
		if c.own != nil && !c.own.follows(w.sequence) {
			continue
		}
		last = string(w.sequence)
		if w.err == nil {
			c.window(w.at).add(&w)
			c.see(w.at)
			continue
		}
		if c.unreadable++; c.unread == nil {
			c.unread = w.err
		}
		if w.at.IsZero() {
			anywhere = last
			continue
		}
		c.window(w.at).miss(last)
	}
	if anywhere != "" { // it is of any window that the batch has to do with, or of now
		if c.own == nil && len(c.others) == 0 {
			c.window(now)
		}
		for _, w := range c.all() {
			w.miss(anywhere)
		}
	}
	if last != "" && c.own != nil {
		c.own.last = last
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

func (c *counts) all() []*window {
	all := slices.Collect(maps.Values(c.others))
	if c.own != nil {
		all = append(all, c.own)
	}
	return all
}

// window returns the window that holds an instant. Without a tumbling window they
// are aligned with the Unix epoch, else with that one.
func (c *counts) window(at time.Time) *window {
	base, length := int64(0), c.settings.Window // milliseconds of the Unix epoch
	if c.own != nil {
		base, length = c.own.start.UnixMilli(), c.own.length
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
		c.others[n] = newWindow(time.UnixMilli(base+n*step), length, c.settings.limits())
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
	budget := c.settings.hotRate() * c.own.length.Seconds()
	if float64(c.own.table.Total()) < budget && float64(c.own.indexes.Total()) < budget {
		return nil
	}
	return []heat.Item{c.own.item(c.settings, "", "")}
}

// ended is what there is to report, in order of time.
//
// An item that stands for its whole window has no part. Every other is one of
// several and is told apart by its first record, which stays the same however
// often the batch is delivered again.
func (c *counts) ended(now time.Time) []heat.Item {
	var items []heat.Item
	for _, w := range c.others {
		items = append(items, w.item(c.settings, c.batch.ShardID, w.first))
	}
	if c.own != nil && c.over() && (c.own.records > 0 || c.own.incomplete) {
		part := ""
		if c.batch.TerminatedEarly {
			part = cmp.Or(c.own.first, "none") // none: a state was dropped, and no record came
		}
		items = append(items, c.own.item(c.settings, c.batch.ShardID, part))
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
	return c.own.state()
}

// Bounds of the keys in a window's state, as topk counts them: the table's, and
// those of its indexes. The state may have 1 MB at Lambda, and base64 makes four
// bytes of three.
const (
	maxKeyBytes      = 550_000
	maxIndexKeyBytes = 200_000
)

// window counts the records that were made in a time.
type window struct {
	start   time.Time // UTC
	length  time.Duration
	first   string // sequence number of the first record that came, counted or not
	last    string // of the last one before this delivery
	records uint64
	table   *topk.Sketch // write units by partition key of the table
	indexes *topk.Sketch // by index and its partition key, with a NUL between
	text    []byte       // room for such a text

	incomplete bool // records may be missing from the counts
}

func newWindow(start time.Time, length time.Duration, limits topk.Limits) *window {
	return &window{start: start.UTC(), length: length, table: topk.New(limits), indexes: topk.New(indexLimits(limits))}
}

func indexLimits(table topk.Limits) topk.Limits {
	return topk.Limits{Entries: table.Entries, Bytes: maxIndexKeyBytes}
}

// follows is false for a record that came in an earlier delivery. Sequence numbers of
// a stream shard rise, and have no leading zeros, or all the same length.
func (w *window) follows(sequence []byte) bool {
	return len(sequence) > len(w.last) || len(sequence) == len(w.last) && string(sequence) > w.last
}

func (w *window) add(made *write) {
	if w.first == "" {
		w.first = string(made.sequence)
	}
	w.records++
	second := made.at.Unix()
	w.table.AddBytes(made.key, uint64(made.units), second)
	for _, x := range made.indexes {
		if x.Index != "" {
			w.text = append(append(append(w.text[:0], x.Index...), 0), x.Key...) // no index has a NUL in its name
			w.indexes.AddBytes(w.text, uint64(x.Units), second)
		}
	}
}

// miss notes a record that could not be counted.
func (w *window) miss(sequence string) {
	w.incomplete = true
	if w.first == "" {
		w.first = sequence
	}
}

// item is the window's counts in the form in which they are stored.
func (w *window) item(s Settings, streamShard, part string) heat.Item {
	it := heat.Item{
		Start: w.start, Window: w.length, StreamShard: streamShard, Part: part,
		Records: w.records, Units: w.table.Total(), Incomplete: w.incomplete,
		Limit: float64(s.PartitionWCU), HotRate: s.hotRate(),
	}
	it.Rest = list(&it, w.table, false, heat.MaxKeys)
	it.IndexRest = list(&it, w.indexes, true, heat.MaxIndexKeys)
	return it
}

// list adds a sketch's heaviest keys to an item. It returns what a key that is not
// listed can weigh.
func list(it *heat.Item, sketch *topk.Sketch, ofIndex bool, most int) (rest uint64) {
	rest = sketch.Floor()
	for i, e := range sketch.Top(sketch.Len()) {
		if i >= most {
			rest = max(rest, e.Count)
			continue
		}
		index, key := "", e.Key
		if ofIndex {
			index, key, _ = strings.Cut(e.Key, "\x00")
		}
		it.Keys = append(it.Keys, heat.Key{
			Index: index, Key: key, Units: e.Low(), Err: e.Err, Writes: e.Adds, Peak: e.Peak, PeakAt: time.Unix(e.PeakSecond, 0).UTC(),
		})
	}
	return rest
}
