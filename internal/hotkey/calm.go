package hotkey

import (
	"context"
	"time"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/limits"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Why more may have been written than is known.
const (
	unreported = "nothing was reported of late, so the table is idle or nobody looks"
	unread     = "records of the quiet time may not have been counted, or their counts can't be read"
	unsummed   = "not every hour of the quiet time was low"
)

// lately is how long ago a window may have ended by which it is seen that somebody looks.
const lately = 15 * time.Minute

// calms are what is known of the load of some keys, each from a time on.
type calms map[schema.BaseKey]*calm

type calm struct {
	Calm
	candidate
}

// newCalms are of keys of which nothing was seen yet.
func newCalms(keys []candidate, from func(candidate) time.Time) calms {
	all := make(calms)
	for _, c := range keys {
		all[c.base] = &calm{Calm{Base: c.base, From: from(c), Doubt: unreported}, c}
	}
	return all
}

// read takes in the windows that start at from or later and before to, as of now.
func (c calms) read(ctx context.Context, j *journal, heat *table, from, to, now time.Time) error {
	for w, err := range heat.All(ctx, from, to) {
		if err != nil {
			return err
		}
		for _, items := range own(w) {
			c.see(items, now)
		}
		if len(w.Unreadable) > 0 {
			heat.unreadable(ctx, j, w.Unreadable)
			c.doubt(w.Start.Add(maxWindow))
		}
	}
	return nil
}

// doubt has the load be unknown up to a time: records of it are not known.
func (c calms) doubt(end time.Time) {
	for _, key := range c {
		if end.After(key.From) {
			key.Doubt = unread
		}
	}
}

// listed is what the items of a window say of one key: its units at most, and the sum of
// what each item's rest is, for each of its partition keys that the item lists. The units of
// a key are those of all its partition keys: of an entity's days, a limit's windows, a
// board's periods.
type listed struct{ units, rest uint64 }

// see takes in all items of one window.
func (c calms) see(items []heat.Item, now time.Time) {
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
				l.rest += items[i].Rest // else it is none of those that rests are reckoned for
			}
			keys[base] = l
		}
	}
	buckets := bucketsOf(start, end)
	for base, key := range c {
		if !end.After(key.From) {
			continue
		}
		hidden := uint64(key.History.Newest()) * buckets[base.Type] * rests.Of(base.Type.Indexed())
		units := keys[base].units + hidden - min(keys[base].rest, hidden)
		key.Peak = max(key.Peak, float64(units)/items[0].Window.Seconds())
		if key.Doubt == unreported && end.After(now.Add(-lately)) {
			key.Doubt = ""
		}
	}
	if incomplete {
		c.doubt(end)
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
