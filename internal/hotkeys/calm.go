package hotkeys

import (
	"context"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/limits"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Reasons why more may have been written than was counted.
const (
	unreported = "no window was reported recently: the table is idle or the detector does not run"
	unread     = "records of the quiet time may not have been counted, or their counts can't be read"
	unsummed   = "not every hour of the quiet time was low"
)

// recently is how long ago a window may have ended to show that the detector is running.
const recently = 15 * time.Minute

// calms holds the known load of some keys, each from a time on.
type calms map[schema.BaseKey]*calm

type calm struct {
	Calm
	candidate
}

// newCalms returns calms in which no window has been read.
func newCalms(keys []candidate, from func(candidate) time.Time) calms {
	all := make(calms)
	for _, c := range keys {
		all[c.base] = &calm{Calm{Base: c.base, From: from(c), Doubt: unreported}, c}
	}
	return all
}

// read adds the windows that start in [from, to).
func (c calms) read(ctx context.Context, j *journal, heat *table, from, to, now time.Time) error {
	for w, err := range heat.All(ctx, from, to) {
		if err != nil {
			return err
		}
		for _, items := range itemsOf("", w) {
			c.addWindow(items, now)
		}
		if len(w.Unreadable) > 0 {
			heat.unreadable(ctx, j, w.Unreadable)
			c.markUnread(w.Start.Add(maxWindow))
		}
	}
	return nil
}

// markUnread marks the load of keys as unknown if their quiet time includes an instant before end.
func (c calms) markUnread(end time.Time) {
	for _, key := range c {
		if end.After(key.From) {
			key.Doubt = unread
		}
	}
}

// listed sums what the items of a window say of one key, over all its partition keys (an entity's days, a limit's
// windows, a board's periods). Its units are an upper bound. Its rest sums the rests of the items that list such a
// partition key.
type listed struct{ units, rest uint64 }

// addWindow adds all items of one window.
func (c calms) addWindow(items []heat.Item, now time.Time) {
	start, end := items[0].Start, items[0].End()
	var rests heat.Rests
	keys := make(map[schema.BaseKey]listed)
	incomplete := false
	for i := range items {
		rests.Add(&items[i])
		incomplete = incomplete || items[i].Incomplete
		for _, key := range items[i].Keys {
			base, ok := key.Base()
			if !ok || c[base] == nil {
				continue
			}
			l := keys[base]
			l.units += key.Units + key.Err
			if key.Index != "" {
				l.rest += items[i].IndexRest
			} else if k, err := schema.ParseKey(key.Key); err == nil && !past(base, k.Bucket, start, end) {
				l.rest += items[i].Rest // else bucketsOf does not count it
			}
			keys[base] = l
		}
	}
	buckets := bucketsOf(start, end)
	for base, key := range c {
		if !end.After(key.From) {
			continue
		}
		hidden := uint64(key.History.Newest()) * buckets[kind.Of(base.Type).Bucket] * rests.Of(kind.Of(base.Type).Indexed())
		units := keys[base].units + hidden - min(keys[base].rest, hidden)
		key.Peak = max(key.Peak, float64(units)/items[0].Window.Seconds())
		if key.Doubt == unreported && end.After(now.Add(-recently)) {
			key.Doubt = ""
		}
	}
	if incomplete {
		c.markUnread(end)
	}
}

// bucketsOf returns how many time buckets the writes of a window may be spread over. The write
// shards of each are partition keys of their own. A board may have all three periods. No item tells
// the length of a limit's windows, so they are taken to be as short as is allowed.
func bucketsOf(from, to time.Time) map[kind.Bucket]uint64 {
	seconds := to.Sub(from.Truncate(limits.MinWindow)) + limits.MinWindow - 1
	return map[kind.Bucket]uint64{
		kind.NoBucket: 1,
		kind.Day:      touched(boards.Daily, from, to.Add(shardmap.MaxEventAhead)),
		kind.Period:   1 + touched(boards.Daily, from, to) + touched(boards.Weekly, from, to),
		kind.Window:   uint64(seconds / limits.MinWindow),
	}
}

// touched counts the days, or the weeks, that have an instant of a time.
func touched(p boards.Period, from, to time.Time) (n uint64) {
	for at := from; at.Before(to); at = p.End(at) {
		n++
	}
	return n
}
