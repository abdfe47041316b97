package hotkey

import (
	"time"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/schema"
)

// highest finds out, from heat items, what some keys took at the most in any window.
type highest struct {
	keys    map[schema.BaseKey]int // their write shards
	windows map[windowID]*counted
}

// windowID tells windows apart.
type windowID struct{ start, length int64 } // milliseconds

// counted is what all items of a window say.
type counted struct {
	rest, indexRest uint64 // at most so much went to a partition key that no item lists
	incomplete      bool
	keys            map[schema.BaseKey]*listed
}

// listed is what they say of one key: its units at most, and the sum of what each item's
// rest is, for each write shard that the item lists.
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
		w = &counted{keys: make(map[schema.BaseKey]*listed)}
		h.windows[id] = w
	}
	w.rest += item.Rest
	w.indexRest += item.IndexRest
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
		if key.Index == "" {
			w.keys[base].rest += item.Rest
		} else {
			w.keys[base].rest += item.IndexRest
		}
	}
}

// boardPeriods is how many periods of a board take scores at a time, each on partitions
// of the index of its own.
const boardPeriods = 3

// most is what a key took in a window at the most, listed or not.
func (w *counted) most(base schema.BaseKey, writeShards int) uint64 {
	hidden := uint64(writeShards) * w.rest
	if base.Type == schema.Board {
		hidden = uint64(writeShards) * boardPeriods * w.indexRest
	}
	if l := w.keys[base]; l != nil {
		return l.units + hidden - min(l.rest, hidden)
	}
	return hidden
}

// Why more may have been written than is known.
const (
	unreported = "nothing was reported of late, so the table is idle or nobody looks"
	unread     = "records of the quiet time may not have been counted"
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
	return calm
}
