package hotkeys

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// loads holds the rates of the listed write shards in one window.
type loads struct {
	start, end      time.Time
	running         bool              // the window has not ended: its counts are those so far
	unreadable      bool              // an item of the window could not be read
	rest, indexRest float64           // upper bounds for a partition key that is not listed, of the table and of an index
	groups          map[string]*group // by base key and time bucket
}

// group holds the write shards of one base key in one time bucket (an entity's day, a limit's window, a board's
// period).
type group struct {
	base   schema.BaseKey
	bucket string
	past   bool // the bucket is a day that was over before the window: see isPastDay
	shards map[int]Load
	sum    Load // without High
}

// window is what this stream shard counted in one window, or in a batch's share of it.
type window struct {
	item    heat.Item // as it is stored
	running bool
	rows    []heat.KeyHeat // of all listed keys, the hottest first
}

// mergedWindows returns the windows of the source's items, which have not ended if running is set.
func mergedWindows(source *heat.CountedTable, running bool, items ...heat.Item) (list []window) {
	for _, item := range items {
		item.Table, item.Own = tableOf(source), source.Own
		list = append(list, window{item, running, heat.Merge([]heat.Item{item})})
	}
	return list
}

// tableOf returns the [heat.Item.Table] of a source's items, which is "" for hotshard's own tables.
func tableOf(source *heat.CountedTable) string {
	if source.Own != "" {
		return ""
	}
	return source.Table
}

// hot returns the rows of keys that are hot or saturated. A write shard's siblings are usually on other stream shards, so
// the rows have none.
func (w *window) hot() (rows []heat.KeyHeat) {
	for _, row := range w.rows {
		if row.Status >= heat.Hot {
			row.Siblings = heat.Siblings{}
			rows = append(rows, row)
		}
	}
	return rows
}

// mayHideHot reports whether a key that is not certainly hot may be hot: a listed key with its error, or an unlisted key.
func (w *window) mayHideHot() bool {
	hotUnits := w.item.HotRate * w.item.Window.Seconds()
	for _, k := range w.item.Keys {
		if float64(k.Units) < hotUnits && float64(k.Units+k.Err) >= hotUnits {
			return true
		}
	}
	return float64(max(w.item.Rest, w.item.IndexRest)) >= hotUnits
}

// loads returns the rates in the window on this stream shard.
func (w *window) loads() *loads {
	l := loadsOf([]heat.Item{w.item}, w.rows)
	l.running = w.running
	return l
}

// loadsOf returns the rates in one window. items are one or more items of the window; rows is the result of [heat.Merge].
func loadsOf(items []heat.Item, rows []heat.KeyHeat) *loads {
	l := &loads{start: items[0].Start, end: items[0].End(), groups: make(map[string]*group)}
	var rests heat.Rests
	for i := range items {
		rests.Add(&items[i])
	}
	seconds := items[0].Window.Seconds()
	l.rest, l.indexRest = float64(rests.Unlisted(false))/seconds, float64(rests.Unlisted(true))/seconds
	for i := range rows {
		l.addRow(&rows[i])
	}
	return l
}

// addRow adds a row if its key is a write shard.
func (l *loads) addRow(row *heat.KeyHeat) {
	base, ok := row.Base()
	name, n, err := shard.Hash.Split(row.Key)
	if !ok || err != nil {
		return
	}
	if l.groups[name] == nil {
		key, _ := schema.ParseKey(row.Key)
		l.groups[name] = &group{base: base, bucket: key.Bucket, past: isPastDay(base, key.Bucket, l.start, l.end), shards: make(map[int]Load)}
	}
	load := Load{Low: row.WriteUnitsPerSecond, High: row.WriteUnitsPerSecond + row.Error, Peak: float64(row.Peak)}
	l.groups[name].shards[n] = load
	l.groups[name].sum.addLoad(load)
}

// allReported reports whether the window's reports are readable and probably complete: reportTime, or half of the
// window's length if that is less, has passed since its end.
func (l *loads) allReported(now time.Time) bool {
	return !l.unreadable && now.Sub(l.end) >= min(reportTime, l.end.Sub(l.start)/2)
}

// suspect is a base key that is hot in a window, or may be if its heat is spread over many stream shards.
type suspect struct {
	name string // the partition keys without the write shard's number; for an indexed key, the base key
	base schema.BaseKey
	sum  float64 // lower bound of the WCU/s in its heaviest time bucket
}

// maxSpread is the number of stream shards over which the heat of a board or a group of sessions is detected. An item's
// record arrives on the stream shard of its table partition. So each stream shard counts only a fraction of what an
// index partition takes. If the index partition is hot, at least one of maxSpread stream shards counts this fraction,
// and reads the other reports.
const maxSpread = 64

// suspects returns the keys to decide on, the hottest first: those with a write shard at hotRate or more. In an index,
// once the window has ended, hotRate/maxSpread is enough, but at least one unit.
func (l *loads) suspects(hotRate float64) []suspect {
	oneUnit := 1 / l.end.Sub(l.start).Seconds()
	found := make(map[string]suspect)
	for name, g := range l.groups {
		leastRate := hotRate
		if schema.TraitsOf(g.base.Type).Indexed() {
			name = g.base.String()
			if !l.running {
				leastRate = max(hotRate/maxSpread, oneUnit)
			}
		}
		for _, load := range g.shards {
			if load.Low >= leastRate {
				found[name] = suspect{name, g.base, max(g.sum.Low, found[name].sum)}
			}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b suspect) int {
		return cmp.Or(cmp.Compare(b.sum, a.sum), cmp.Compare(a.name, b.name))
	})
}

// evidence returns what the window shows of a suspect. partial means that other stream shards may not have reported yet.
// For an indexed key partial is ignored, because each stream shard counts a sample of all its writes.
//
// For a board, the evidence is the hottest period's rates; OtherPeriods is the sum of the other periods. All periods share
// the same partitions of the index.
func (l *loads) evidence(s suspect, partial bool) Evidence {
	e := Evidence{Base: s.base, Start: l.start, End: l.end, Running: l.running}
	if !schema.TraitsOf(s.base.Type).Indexed() {
		e.Rest, e.Partial = l.rest, partial
		if g := l.groups[s.name]; g != nil {
			e.Shards, e.Past = g.shards, g.past
		}
		return e
	}
	e.Rest = l.indexRest
	periods := slices.DeleteFunc(slices.Collect(maps.Values(l.groups)), func(g *group) bool { return g.base != e.Base })
	slices.SortFunc(periods, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.sum.Low, a.sum.Low), cmp.Compare(a.bucket, b.bucket))
	})
	for i, g := range periods {
		if i == 0 {
			e.Shards = g.shards
		} else {
			e.OtherPeriods.addLoad(g.sum)
		}
	}
	return e
}

// isPastDay reports whether a time bucket is an entity's day to which no event that is written in the window belongs.
func isPastDay(base schema.BaseKey, bucket string, start, end time.Time) bool {
	day := func(at time.Time) string { return schema.EventBucket.Label(at) }
	return schema.TraitsOf(base.Type).Bucket == schema.DayBucket && bucket != day(start) && bucket != day(end.Add(shardmap.MaxEventAhead))
}
