package heatview

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/tool/live"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// look is the state that top shows at one time.
type look struct {
	at       time.Time
	asOf     time.Time // end of the newest complete window; zero before the first
	keys     []viewKey // of the newest complete window, and those that were hot before
	units    float64   // WCU/s of the table in that window
	coverage float64   // of that window
	hot      int       // keys that are hot now, saturated ones included
	written  bool      // a key was written, kept or not
	matched  bool      // a key was kept
}

// viewKey is a partition key, or a base key with all its write shards.
type viewKey struct {
	id       keyID
	row      heat.KeyHeat // of the hottest partition key in the hotNow newest complete windows; without a rate if none lists it
	status   heat.Status
	worst    heat.Status    // of any window
	cooled   time.Time      // end of the last hot window, of a key that was hot and is not now; else zero
	hotUntil time.Time      // end of the last hot window
	peak     uint64         // WCU in its heaviest second
	rates    []float64      // of the hottest partition key, a window each, the newest last
	shards   int            // write shards of its base key; 0 if it has none
	parts    []heat.KeyHeat // its write shards in the newest complete window, in order of their numbers
	advice   string
}

// statusText returns the status as text.
func (k *viewKey) statusText() string {
	switch {
	case !k.cooled.IsZero():
		return "cooled"
	case k.status == heat.Warm:
		return "normal"
	}
	return k.status.String()
}

// current returns the certified rate of its hottest partition key in the newest complete window.
func (k *viewKey) current() float64 {
	if len(k.rates) == 0 {
		return 0
	}
	return k.rates[len(k.rates)-1]
}

// currentError returns the most that the key's true rate exceeds current, in WCU/s. It returns
// false for a key that the newest complete window does not list.
func (k *viewKey) currentError() (float64, bool) {
	if len(k.parts) == 0 {
		return 0, false
	}
	hottest := slices.MaxFunc(k.parts, func(a, b heat.KeyHeat) int { return cmp.Compare(a.WriteUnitsPerSecond, b.WriteUnitsPerSecond) })
	return hottest.Error, true
}

type keyID struct{ table, index, key string }

func idOf(row *heat.KeyHeat) keyID { return keyID{row.Table, row.Index, row.Key} }

// groupOf returns the ID of the base key that a row is a write shard of, or of the row itself.
func groupOf(row *heat.KeyHeat) keyID {
	id := idOf(row)
	if base, ok := row.Base(); ok {
		id.key = base.String()
	}
	return id
}

// looker builds looks. It keeps the complete windows. It is not safe for concurrent use.
type looker struct {
	w       *Watched
	keep    func([]heat.KeyHeat) []heat.KeyHeat
	span    time.Duration // that is kept
	next    time.Time     // start of the next read from the source
	fresh   bool          // windows were added that last does not cover
	windows []seenWindow
	last    look
	matched bool // a key was kept
	written bool // a key was written, kept or not
}

// seenWindow is a complete window.
type seenWindow struct {
	start    time.Time
	units    float64
	coverage float64
	rows     map[keyID]heat.KeyHeat
}

// maxKeys bounds the keys of a window: the hottest.
const maxKeys = 500

// look reads the new windows and returns the current look. After an error of the source or of the shard map it returns
// the previous look, and the next call covers the windows that were read.
func (l *looker) look(ctx context.Context, now time.Time) (look, error) {
	settled := l.w.Settled()
	for w, err := range l.w.Source.Windows(ctx, l.next, settled, live.Window) {
		if err != nil {
			return l.last, err
		}
		if w.Start.Add(live.Window).After(settled) {
			break
		}
		l.add(w)
		l.advance(w)
		l.fresh = true
	}
	if l.fresh {
		seen, err := l.sum(ctx, now)
		if err != nil {
			return l.last, err
		}
		l.last, l.fresh = seen, false
	}
	l.last.at = now
	return l.last, nil
}

// advance makes the next read start after a window.
func (l *looker) advance(w heat.Window) { l.next = w.Start.Add(time.Millisecond) }

// add keeps a complete window, and drops old ones. A window that is added again replaces itself.
func (l *looker) add(w heat.Window) {
	at := seenWindow{start: w.Start, coverage: 1 - w.Unread(), rows: make(map[keyID]heat.KeyHeat)}
	for _, it := range w.Items {
		at.units += float64(it.Units) / it.Window.Seconds()
		if it.Coverage > 0 {
			at.coverage = min(at.coverage, it.Coverage)
		}
	}
	rows := heat.Merge(w.Items)
	l.written = l.written || len(rows) > 0
	for _, row := range l.keep(rows) {
		if len(at.rows) == maxKeys {
			break
		}
		at.rows[idOf(&row)] = row
		l.matched = true
	}
	if n := len(l.windows); n > 0 && l.windows[n-1].start.Equal(at.start) {
		l.windows = l.windows[:n-1]
	}
	l.windows = append(l.windows, at)
	for at.start.Sub(l.windows[0].start) > l.span {
		l.windows = l.windows[1:]
	}
}

// sum returns the look of the windows.
func (l *looker) sum(ctx context.Context, now time.Time) (look, error) {
	newest := &l.windows[len(l.windows)-1]
	s := look{asOf: newest.start.Add(live.Window), units: newest.units, coverage: newest.coverage, written: l.written, matched: l.matched}
	keys := make(map[keyID]*viewKey)
	for i := range l.windows {
		l.join(keys, i)
	}
	for _, k := range keys {
		if len(k.parts) == 0 && k.worst < heat.Hot {
			continue
		}
		if k.status >= heat.Hot {
			s.hot++
		} else {
			k.cooled = k.hotUntil
		}
		if err := l.advise(ctx, k, now); err != nil {
			return s, err
		}
		s.keys = append(s.keys, *k)
	}
	return s, nil
}

// hotNow is the number of newest windows that decide what is hot now.
const hotNow = 2

// join adds a window's rows. Windows are added in order of time.
func (l *looker) join(keys map[keyID]*viewKey, i int) {
	w := &l.windows[i]
	fromEnd := len(l.windows) - i // 1 is the newest
	for _, row := range w.rows {
		id := groupOf(&row)
		k := keys[id]
		if k == nil {
			k = &viewKey{id: id, rates: make([]float64, len(l.windows)), row: row}
			k.row.WriteUnitsPerSecond, k.row.Status = 0, heat.Warm
			keys[id] = k
		}
		k.rates[i] = max(k.rates[i], row.WriteUnitsPerSecond)
		k.peak = max(k.peak, row.Peak)
		status := verdict(&row)
		k.worst = max(k.worst, status)
		if status >= heat.Hot {
			k.hotUntil = w.start.Add(live.Window)
		}
		if fromEnd > hotNow {
			continue
		}
		k.status = max(k.status, status)
		if row.WriteUnitsPerSecond >= k.row.WriteUnitsPerSecond || status > k.row.Status {
			k.row = row
		}
		if fromEnd == 1 {
			k.parts = append(k.parts, row)
		}
	}
}

// verdict returns the status of one window: by the rate, or hot if one second took the partition's limit.
func verdict(row *heat.KeyHeat) heat.Status {
	if float64(row.Peak) >= row.Limit {
		return max(row.Status, heat.Hot)
	}
	return row.Status
}

// advise sets the key's write shards and its advice.
func (l *looker) advise(ctx context.Context, k *viewKey, now time.Time) error {
	slices.SortFunc(k.parts, func(a, b heat.KeyHeat) int { return heat.CompareShards(a.Key, b.Key) })
	row := k.row
	row.Verdicts = heat.Verdicts{Worst: k.worst, Now: k.status, Current: k.current(), HotUntil: k.hotUntil}
	row.Peak = k.peak
	if k.worst == heat.Warm { // the advice for a normal key names its current rate
		row.WriteUnitsPerSecond = k.current()
	}
	base, ok := row.Base()
	if !ok || l.w.Shards == nil {
		k.advice = row.Advice(1, shard.Change{}, shardmap.FewPartitions)
		return nil
	}
	entry, err := l.w.Shards.Lookup(ctx, base.String(), now)
	if err != nil {
		return err
	}
	k.shards = entry.History.Newest()
	k.advice = row.Advice(k.shards, heat.NewestGrowth(entry.History), l.w.Shards.Partitions(kind.Of(base.Type).Table))
	return nil
}
