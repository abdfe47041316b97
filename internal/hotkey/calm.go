package hotkey

import (
	"time"

	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/limits"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/schema"
)

// highest finds out, from heat items, what some keys took at the most in any window.
type highest struct {
	keys    map[schema.BaseKey]int // their write shards
	windows map[windowID]*counted
	lost    time.Time // up to then an item may be of that can't be read
}

// windowID tells windows apart.
type windowID struct{ start, length int64 } // milliseconds

// counted is what all items of a window say.
type counted struct {
	rests      heat.Rests
	buckets    map[schema.Type]uint64 // see bucketsOf
	incomplete bool
	keys       map[schema.BaseKey]*listed
}

// listed is what they say of one key: its units at most, and the sum of what each item's
// rest is, for each of its partition keys that the item lists.
type listed struct{ units, rest uint64 }

func newHighest(keys []candidate) *highest {
	h := &highest{keys: make(map[schema.BaseKey]int), windows: make(map[windowID]*counted)}
	for _, c := range keys {
		h.keys[c.base] = c.History.Newest()
	}
	return h
}

// add takes an item in. The units of a key are those of all its partition keys: of an
// entity's days, a limit's windows, a board's periods.
func (h *highest) add(item heat.Item) {
	id := windowID{item.Start.UnixMilli(), item.Window.Milliseconds()}
	w := h.windows[id]
	if w == nil {
		w = &counted{buckets: bucketsOf(item.Start, item.End()), keys: make(map[schema.BaseKey]*listed)}
		h.windows[id] = w
	}
	w.rests.Add(&item)
	w.incomplete = w.incomplete || item.Incomplete
	for i := range item.Keys {
		key := &item.Keys[i]
		base, ok := key.Base()
		if _, wanted := h.keys[base]; !ok || !wanted {
			continue
		}
		if w.keys[base] == nil {
			w.keys[base] = new(listed)
		}
		w.keys[base].units += key.Units + key.Err
		if key.Index != "" {
			w.keys[base].rest += item.IndexRest
		} else if k, err := schema.ParseKey(key.Key); err == nil && !past(base, k.Bucket, item.Start, item.End()) {
			w.keys[base].rest += item.Rest // else it is none of those that rests are reckoned for
		}
	}
}

// lose notes an item that can't be read, of a window that starts at a time.
func (h *highest) lose(start time.Time) {
	if end := start.Add(maxWindow); end.After(h.lost) {
		h.lost = end
	}
}

// bucketsOf is over how many time buckets the writes of a window may be spread: the
// write shards of each are partition keys of their own. An entity has days, and a board at
// most all three periods. How long a limit's windows are no item tells: as short as may be.
func bucketsOf(from, to time.Time) map[schema.Type]uint64 {
	seconds := to.Sub(from.Truncate(limits.MinWindow)) + limits.MinWindow - 1
	return map[schema.Type]uint64{
		schema.Counter:  1,
		schema.Sessions: 1,
		schema.Entity:   touched(boards.Daily, from, to.Add(shardmap.MaxEventAhead)),
		schema.Board:    1 + touched(boards.Daily, from, to) + touched(boards.Weekly, from, to),
		schema.Limit:    uint64(seconds / limits.MinWindow),
	}
}

// touched counts the days, or the weeks, that have an instant of a time.
func touched(p boards.Period, from, to time.Time) (n uint64) {
	for at := from; at.Before(to); at = p.End(at) {
		n++
	}
	return n
}

// most is what a key took in a window at the most, listed or not.
func (w *counted) most(base schema.BaseKey, writeShards int) uint64 {
	hidden := uint64(writeShards) * w.buckets[base.Type] * w.rests.Of(base.Type == schema.Board)
	if l := w.keys[base]; l != nil {
		return l.units + hidden - min(l.rest, hidden)
	}
	return hidden
}

// Why more may have been written than is known.
const (
	unreported = "nothing was reported of late, so the table is idle or nobody looks"
	unread     = "records of the quiet time may not have been counted, or their counts can't be read"
	unsummed   = "not every hour of the quiet time was low"
)

// lately is how long ago a window may have ended by which it is seen that somebody looks.
const lately = 15 * time.Minute

// calm says what is known of a key's load in the windows that end after from.
func (h *highest) calm(c candidate, from, now time.Time) Calm {
	calm := Calm{Base: c.base, From: from, Doubt: unreported}
	for id, w := range h.windows {
		end := time.UnixMilli(id.start + id.length)
		if !end.After(from) {
			continue
		}
		calm.Peak = max(calm.Peak, 1000*float64(w.most(c.base, c.History.Newest()))/float64(id.length))
		switch {
		case w.incomplete:
			calm.Doubt = unread
		case calm.Doubt == unreported && end.After(now.Add(-lately)):
			calm.Doubt = ""
		}
	}
	if h.lost.After(from) {
		calm.Doubt = unread
	}
	return calm
}
