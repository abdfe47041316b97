package heatview

import (
	"context"
	"time"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/live"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// look is what there is to see at one time.
type look struct {
	at       time.Time
	keys     []viewKey
	units    float64 // a second, of the table, in the newest window that is over
	coverage float64 // of that window
	windows  int     // over, so far
	hot      int     // keys that are hot now, saturated ones included
}

// viewKey is a key of the newest windows.
type viewKey struct {
	row    heat.Row  // of the newest window that is over, or of the running one if that is hotter already
	rates  []float64 // a window each, the newest last
	shards int       // write shards of its base key; 0 where it has none
	advice string
}

type keyID struct{ table, index, key string }

func idOf(row *heat.Row) keyID { return keyID{row.Table, row.Index, row.Key} }

// looker puts looks together. It keeps the windows that are over.
type looker struct {
	w      *Watched
	keep   func([]heat.Row) []heat.Row
	span   time.Duration // that is kept
	next   time.Time     // windows that start earlier are kept already
	window []lookedWindow
}

// lookedWindow is a window.
type lookedWindow struct {
	start    time.Time
	over     bool
	units    float64
	coverage float64
	rows     map[keyID]heat.Row
}

// maxKeys is how many keys a look has, at most: the hottest.
const maxKeys = 500

// look reads what is new.
func (l *looker) look(ctx context.Context, now time.Time) (look, error) {
	settled := l.w.Settled()
	list := l.window
	for len(list) > 0 && !list[len(list)-1].over { // read anew
		list = list[:len(list)-1]
	}
	for w, err := range l.w.Source.Windows(ctx, l.next, now.Add(live.Window), live.Window) {
		if err != nil {
			return look{}, err
		}
		at := l.windowOf(w)
		if end := w.Start.Add(live.Window); !end.After(settled) {
			at.over, l.next = true, w.Start.Add(time.Millisecond)
		}
		list = append(list, at)
	}
	for len(list) > 0 && now.Sub(list[0].start) > l.span {
		list = list[1:]
	}
	l.window = list
	return l.sum(ctx, now)
}

func (l *looker) windowOf(w heat.Window) lookedWindow {
	at := lookedWindow{start: w.Start, coverage: 1, rows: make(map[keyID]heat.Row)}
	for _, it := range w.Items {
		at.units += float64(it.Units) / it.Window.Seconds()
		if it.Coverage > 0 {
			at.coverage = min(at.coverage, it.Coverage)
		}
	}
	for _, row := range l.keep(heat.Merge(w.Items)) {
		if len(at.rows) == maxKeys {
			break
		}
		at.rows[idOf(&row)] = row
	}
	return at
}

// sum makes a look of the windows.
func (l *looker) sum(ctx context.Context, now time.Time) (look, error) {
	s := look{at: now, coverage: 1}
	var newest []lookedWindow // the running ones, and the last that is over
	for i := len(l.window) - 1; i >= 0; i-- {
		w := l.window[i]
		if newest = append(newest, w); w.over {
			s.units, s.coverage = w.units, w.coverage
			break
		}
	}
	for _, w := range l.window {
		if w.over {
			s.windows++
		}
	}
	seen := make(map[keyID]int)
	for _, w := range newest {
		for id, row := range w.rows {
			i, ok := seen[id]
			if !ok {
				seen[id] = len(s.keys)
				s.keys = append(s.keys, viewKey{row: row})
			} else if row.WriteUnitsPerSecond > s.keys[i].row.WriteUnitsPerSecond {
				s.keys[i].row = row
			}
		}
	}
	for i := range s.keys {
		if err := l.tell(ctx, &s.keys[i], now); err != nil {
			return s, err
		}
		if s.keys[i].row.Status >= heat.Hot {
			s.hot++
		}
	}
	return s, nil
}

// tell adds what is known of a key beside its row.
func (l *looker) tell(ctx context.Context, k *viewKey, now time.Time) error {
	id := idOf(&k.row)
	for _, w := range l.window {
		rate := w.rows[id].WriteUnitsPerSecond
		if n := len(k.rates); w.over || n == 0 || rate > k.rates[n-1] { // a running window may still come up to the last
			k.rates = append(k.rates, rate)
		}
	}
	base, ok := k.row.Base()
	if !ok || l.w.Shards == nil {
		k.advice = k.row.Advice(1, time.Time{}, shardmap.FewPartitions)
		return nil
	}
	entry, err := l.w.Shards.Lookup(ctx, base.String(), now)
	if err != nil {
		return err
	}
	k.shards = entry.History.Newest()
	k.advice = k.row.Advice(k.shards, entry.Effective(), l.w.Shards.Partitions())
	return nil
}
