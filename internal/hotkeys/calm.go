package hotkeys

import (
	"context"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/limits"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// PastLoad is the load of a key from a time up to now.
type PastLoad struct {
	Base  schema.BaseKey
	From  time.Time
	Peak  float64 // upper bound of the WCU/s in the heaviest window
	Doubt string  // why the load may have been higher; "" for no doubt
}

// DecideShrink decides whether a key shrinks. A key shrinks if half of its write shards were enough for its heaviest window.
// The new count is the number of write shards that this window needs: see [growth.Needed].
func (p Policy) DecideShrink(load PastLoad, entry shardmap.Entry) Decision {
	n := entry.History.Newest()
	d := Decision{From: n, To: n}
	switch {
	case n <= 1:
		return d.with(None, "it has one write shard")
	case entry.Pinned:
		return d.with(None, "its shard count is pinned")
	case load.From.Before(entry.Effective()):
		return d.with(None, "the last change is too recent")
	case load.Doubt != "":
		return d.with(None, load.Doubt)
	case 2*growth.Needed(load.Base.Type, load.Peak, p.Limit) > n:
		return d.with(None, "the quiet time's peak needs more than half of the write shards")
	}
	d.To = growth.Needed(load.Base.Type, load.Peak, p.Limit)
	return d.with(Shrink, fmt.Sprintf("no window since %s had more than %.1f WCU/s; a partition takes %.0f",
		load.From.UTC().Format(time.DateTime), load.Peak, p.Limit))
}

// The values of [PastLoad.Doubt].
const (
	doubtUnreported = "no window was reported recently: the table is idle or the detector does not run"
	doubtUnread     = "records of the quiet time may not have been counted, or their counts can't be read"
)

// maxReportAge is the greatest age of the newest window's end at which the detector counts as running.
const maxReportAge = 15 * time.Minute

// pastLoads has the candidates of a shrink, by base key. Its methods add the windows of their quiet periods.
type pastLoads map[schema.BaseKey]*candidate

func newPastLoads(keys []candidate) pastLoads {
	all := make(pastLoads)
	for i := range keys {
		all[keys[i].Base] = &keys[i]
	}
	return all
}

// readWindows reads and adds the windows that start at from or later and before to, or blocks if step allows them.
func (c pastLoads) readWindows(ctx context.Context, j *journal, heat *table, from, to, now time.Time, step time.Duration) error {
	for w, err := range heat.Windows(ctx, from, to, step) {
		if err != nil {
			return err
		}
		for _, items := range itemsByLength("", w) {
			c.addWindow(items, now)
		}
		if len(w.Unreadable) > 0 {
			heat.logUnreadable(ctx, j, w.Unreadable)
			c.markUnread(w.Start.Add(maxWindow)) // also longer than a block
		}
	}
	return nil
}

// markUnread marks the load of keys as unknown if their quiet time includes an instant before end.
func (c pastLoads) markUnread(end time.Time) {
	for _, key := range c {
		if end.After(key.From) {
			key.Doubt = doubtUnread
		}
	}
}

// listedSums has sums over the partition keys of one base key that a window lists: an entity's days, a limit's windows, a
// board's periods.
type listedSums struct {
	units uint64 // upper bound of the units of these partition keys
	rest  uint64 // sum of the rests of the items that list them, without past days
}

// addWindow raises the keys' peaks by all items of one window, or of a block. A recent window clears doubtUnreported.
func (c pastLoads) addWindow(items []heat.Item, now time.Time) {
	start, end := items[0].Start, items[0].End()
	var rests heat.Rests
	incomplete := false
	for i := range items {
		items[i] = items[i].AtMost()
		rests.Add(&items[i])
		incomplete = incomplete || items[i].Incomplete
	}
	length := items[0].Window
	sums, buckets := c.sumListed(items, end), maxBuckets(start, end, length)
	for base, key := range c {
		if !end.After(key.From) {
			continue
		}
		traits := schema.TraitsOf(base.Type)
		unlisted := uint64(key.History.Newest()) * buckets[traits.Bucket] * rests.Unlisted(traits.Indexed())
		units := sums[base].units + unlisted - min(sums[base].rest, unlisted)
		key.Peak = max(key.Peak, float64(units)/length.Seconds())
		if key.Doubt == doubtUnreported && end.After(now.Add(-maxReportAge)) {
			key.Doubt = ""
		}
	}
	if incomplete {
		c.markUnread(end)
	}
}

// sumListed sums the listed units of each key in one window or block, which ends at end.
func (c pastLoads) sumListed(items []heat.Item, end time.Time) map[schema.BaseKey]listedSums {
	sums := make(map[schema.BaseKey]listedSums)
	for i := range items {
		for _, key := range items[i].Keys {
			base, ok := key.Base()
			if !ok || c[base] == nil {
				continue
			}
			sum := sums[base]
			sum.units += key.Units + key.Err
			if key.Index != "" {
				sum.rest += items[i].IndexRest
			} else if k, err := schema.ParseKey(key.Key); err == nil && !isPastDay(base, k.Bucket, items[i].Start, end) {
				sum.rest += items[i].Rest // maxBuckets does not count past buckets
			}
			sums[base] = sum
		}
	}
	return sums
}

// maxBuckets returns, for each kind of time bucket, the greatest number of buckets that the writes of any window between
// from and to may go to. The window has this length. Each bucket has its own write shards. A board may have all periods. A
// limit's windows have an unknown length: maxBuckets assumes the shortest that is allowed.
func maxBuckets(from, to time.Time, length time.Duration) map[schema.Bucket]uint64 {
	fromBucket := from.Sub(from.Truncate(limits.MinWindow)) + length // from a limit window's start to the detector window's end
	periods := uint64(1)                                             // all time
	for _, p := range boards.Periods()[1:] {
		periods += countPeriods(p, from, to)
	}
	return map[schema.Bucket]uint64{
		schema.NoBucket:     1,
		schema.DayBucket:    countPeriods(boards.Daily, from, to.Add(shardmap.MaxEventAhead)),
		schema.PeriodBucket: periods,
		schema.WindowBucket: uint64((fromBucket + limits.MinWindow - 1) / limits.MinWindow), // rounded up
	}
}

// countPeriods returns the number of days, weeks or months that overlap [from, to).
func countPeriods(p boards.Period, from, to time.Time) (n uint64) {
	for at := from; at.Before(to); at = p.End(at) {
		n++
	}
	return n
}
