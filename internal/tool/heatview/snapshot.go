package heatview

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/tool/live"
)

// snapshot is what top shows at one time.
type snapshot struct {
	at       time.Time
	asOf     time.Time // end of the newest complete window; zero before the first
	keys     []viewKey // keys in the newest complete window, and earlier hot keys
	units    float64   // WCU/s of the table in that window
	coverage float64   // share of that window that was read
	hot      int       // number of hot and saturated keys
	written  bool      // any key was written
	matched  bool      // any written key matched the options
}

// viewKey is a partition key, or a base key with all its write shards.
type viewKey struct {
	id            keyID
	row           heat.KeyHeat   // row of the hottest partition key in the hotNow newest complete windows; rate 0 without one
	heat.Verdicts                // over all windows
	peak          uint64         // WCU in the heaviest second
	rates         []float64      // rates of the hottest partition key in each window, newest last
	shards        int            // shard count of the base key; 0 if there is none
	written       []heat.KeyHeat // write shards in the newest complete window, in numeric order
	moments       []heat.KeyHeat // hottest partition key in each of the hotNow newest complete windows
	advice        string
}

// statusText returns the status as text.
func (k *viewKey) statusText() string {
	switch {
	case !k.CooledAt().IsZero():
		return "cooled"
	case k.Now == heat.Warm:
		return "normal"
	}
	return k.Now.String()
}

// total returns the certified rate of all write shards in the newest complete window.
func (k *viewKey) total() (sum float64) {
	for i := range k.written {
		sum += k.written[i].WriteUnitsPerSecond
	}
	return sum
}

// currentError returns the upper bound of the error of Current, in WCU/s. It returns false if the newest complete window
// does not have the key.
func (k *viewKey) currentError() (float64, bool) {
	if len(k.written) == 0 {
		return 0, false
	}
	hottest := slices.MaxFunc(k.written, func(a, b heat.KeyHeat) int { return cmp.Compare(a.WriteUnitsPerSecond, b.WriteUnitsPerSecond) })
	return hottest.Error, true
}

type keyID struct{ table, index, key string }

func idOf(row *heat.KeyHeat) keyID { return keyID{row.Table, row.Index, row.Key} }

// collector keeps complete windows and makes snapshots of them. It is not safe for concurrent use.
type collector struct {
	w       *Watched
	o       *Options
	next    time.Time // start of the next read from the source
	fresh   bool      // windows were added since last
	windows []seenWindow
	last    snapshot
	matched bool // as in snapshot
	written bool // as in snapshot
}

// seenWindow is a complete window.
type seenWindow struct {
	start    time.Time
	units    float64
	coverage float64
	rows     map[keyID]heat.KeyHeat
}

// maxKeys is the maximum number of keys that are kept of a window: the hottest.
const maxKeys = 500

// readWindows adds the windows that were completed since the last call, and passes each to do. If do fails, the next call begins
// with the same window.
func (c *collector) readWindows(ctx context.Context, do func(heat.Window) error) error {
	settled := c.w.Settled()
	for w, err := range c.w.Source.Windows(ctx, c.next, settled, live.Window) {
		if err != nil || w.Start.Add(live.Window).After(settled) {
			return err
		}
		c.addWindow(w)
		c.fresh = true
		if err := do(w); err != nil {
			return err
		}
		c.next = w.Start.Add(time.Millisecond)
	}
	return nil
}

// refresh reads new windows and returns a new snapshot. After an error of the source or of the shard map it returns the
// previous snapshot; the next call includes the windows that were read.
func (c *collector) refresh(ctx context.Context, now time.Time) (snapshot, error) {
	if err := c.readWindows(ctx, func(heat.Window) error { return nil }); err != nil {
		return c.last, err
	}
	if c.fresh {
		seen, err := c.sum(ctx, now)
		if err != nil {
			return c.last, err
		}
		c.last, c.fresh = seen, false
	}
	c.last.at = now
	return c.last, nil
}

// addWindow adds a complete window, and drops old ones. A window that is added again replaces itself.
func (c *collector) addWindow(w heat.Window) {
	at := seenWindow{start: w.Start, coverage: 1 - w.Unread(), rows: make(map[keyID]heat.KeyHeat)}
	for _, it := range w.Items {
		at.units += float64(it.Units) / it.Window.Seconds()
		if it.Coverage > 0 {
			at.coverage = min(at.coverage, it.Coverage)
		}
	}
	rows := heat.Merge(w.Items)
	c.written = c.written || len(rows) > 0
	for _, row := range c.o.selectRows(rows) {
		if len(at.rows) == maxKeys {
			break
		}
		at.rows[idOf(&row)] = row
		c.matched = true
	}
	if n := len(c.windows); n > 0 && c.windows[n-1].start.Equal(at.start) {
		c.windows = c.windows[:n-1]
	}
	c.windows = append(c.windows, at)
	for at.start.Sub(c.windows[0].start) > min(max(minSpan, c.o.Span), maxSpan) {
		c.windows = c.windows[1:]
	}
}

// sum returns the snapshot of the kept windows.
func (c *collector) sum(ctx context.Context, now time.Time) (snapshot, error) {
	newest := &c.windows[len(c.windows)-1]
	s := snapshot{asOf: newest.start.Add(live.Window), units: newest.units, coverage: newest.coverage, written: c.written, matched: c.matched}
	keys := make(map[keyID]*viewKey)
	for i := range c.windows {
		c.addRows(keys, i)
	}
	for _, k := range keys {
		if len(k.written) == 0 && k.Worst < heat.Hot {
			continue
		}
		if k.Now >= heat.Hot {
			s.hot++
		}
		if err := c.advise(ctx, k, now); err != nil {
			return s, err
		}
		s.keys = append(s.keys, *k)
	}
	return s, nil
}

// hotNow is the number of newest windows that decide what is hot now.
const hotNow = 2

// addRows adds the rows of the i-th window to keys. Call it in the order of the windows.
func (c *collector) addRows(keys map[keyID]*viewKey, i int) {
	w := &c.windows[i]
	fromEnd := len(c.windows) - i // 1 is the newest
	for _, row := range w.rows {
		id := c.o.Programs.group(&row)
		k := keys[id]
		if k == nil {
			k = &viewKey{id: id, rates: make([]float64, len(c.windows)), row: row}
			k.row.WriteUnitsPerSecond, k.row.Status = 0, heat.Warm
			keys[id] = k
		}
		k.rates[i] = max(k.rates[i], row.WriteUnitsPerSecond)
		k.peak = max(k.peak, row.Peak)
		k.Worst = max(k.Worst, row.Worst)
		if row.Worst >= heat.Hot {
			k.HotUntil = w.start.Add(live.Window)
		}
		if fromEnd > hotNow {
			continue
		}
		k.Now = max(k.Now, row.Worst)
		k.addMoment(row)
		if row.WriteUnitsPerSecond >= k.row.WriteUnitsPerSecond || row.Worst > k.row.Status {
			k.row = row
		}
		if fromEnd == 1 {
			k.written = append(k.written, row)
			k.Current = k.rates[i]
		}
	}
}

// addMoment adds a partition key's row of a current window. All rows of a window come together.
func (k *viewKey) addMoment(row heat.KeyHeat) {
	last := len(k.moments) - 1
	switch {
	case last < 0 || !k.moments[last].Start.Equal(row.Start):
		k.moments = append(k.moments, row)
	case row.WriteUnitsPerSecond > k.moments[last].WriteUnitsPerSecond:
		row.Join(&k.moments[last])
		k.moments[last] = row
	default:
		k.moments[last].Join(&row)
	}
}

// advise sets the key's write shards and its advice.
func (c *collector) advise(ctx context.Context, k *viewKey, now time.Time) error {
	slices.SortFunc(k.written, func(a, b heat.KeyHeat) int { return c.o.Programs.compare(a.Key, b.Key) })
	row := k.row
	row.Verdicts = k.Verdicts
	key, t, table := c.inMap(&row)
	if key == "" || c.w.Shards == nil {
		k.shards = c.o.Programs.seen(k.written)
		var none heat.Sharding
		k.advice = row.Advice(none.Moment(k.moments), none)
		return nil
	}
	entry, err := c.w.Shards.Lookup(ctx, key, now)
	if err != nil {
		return err
	}
	k.shards = entry.History.Newest()
	s := heat.ShardingOf(t, entry.History, c.w.Shards.Partitions(table))
	k.advice = row.Advice(s.Moment(k.moments), s)
	return nil
}

// inMap returns the key of a row in the shard map, its kind and its table. The key is "" if it has no write shards.
func (c *collector) inMap(row *heat.KeyHeat) (key string, t kind.Kind, table string) {
	if base, ok := row.Base(); ok {
		return base.String(), base.Type, kind.Of(base.Type).Table
	}
	if c.o.Programs.have(row) {
		name, _ := c.o.Programs.split(row.Key)
		return c.o.Programs.Namespace + name, kind.OwnTimed, c.w.Name
	}
	return "", "", ""
}
