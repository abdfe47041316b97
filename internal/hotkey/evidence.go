package hotkey

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// loads are the rates of all write shards in one window, of hotshard's own table.
type loads struct {
	start, end      time.Time
	running         bool
	lost            bool    // an item of it can't be read
	rest, indexRest float64 // at most so much went to any other partition key
	groups          map[string]*group
}

// group is the write shards of one base key, of an entity in one day, of a limit in one
// of its windows, and of a board in one period.
type group struct {
	base   schema.BaseKey
	bucket string
	shards map[int]Load
	sum    Load
}

// loadsOf puts together what items of one window say, one or more.
func loadsOf(items []heat.Item) *loads {
	l := &loads{start: items[0].Start, end: items[0].End(), groups: make(map[string]*group)}
	var rests heat.Rests
	for i := range items {
		rests.Add(&items[i])
	}
	l.rest = float64(rests.Of(false)) / items[0].Window.Seconds()
	l.indexRest = float64(rests.Of(true)) / items[0].Window.Seconds()
	for _, row := range heat.Merge(items) {
		base, ok := row.Base()
		name, n, err := shard.Hash.Split(row.Key)
		if !ok || err != nil {
			continue
		}
		if l.groups[name] == nil {
			key, _ := schema.ParseKey(row.Key)
			l.groups[name] = &group{base: base, bucket: key.Bucket, shards: make(map[int]Load)}
		}
		load := Load{Low: row.WriteUnitsPerSecond, High: row.WriteUnitsPerSecond + row.Error, Peak: float64(row.Peak)}
		l.groups[name].shards[n] = load
		l.groups[name].sum.add(load)
	}
	return l
}

// heard tells whether all stream shards have reported a window by now, as a rule, and what
// they reported can be read.
func (l *loads) heard(now time.Time) bool {
	return !l.lost && now.Sub(l.end) >= min(reportTime, l.end.Sub(l.start)/2)
}

// suspect is what a window shows to be hot: a base key, of an entity in one day, of a
// limit in one of its windows.
type suspect struct {
	name string // what its partition keys have before the write shard's number; of what is in an index, the base key
	base schema.BaseKey
	sum  float64
}

// maxSpread is over how many stream shards the heat of a board or a group of sessions is
// found. An item's record comes by the stream shard of its own partition in the table, so
// that each stream shard counts a part only of what a partition of the index takes. If
// that is hot, then one of so many stream shards at least has counted this part of
// it, and asks what the others have counted, once they have reported the window.
const maxSpread = 64

// suspects lists the keys that are to be decided on, the hottest first.
func (l *loads) suspects(hotRate float64) []suspect {
	found := make(map[string]suspect)
	for name, g := range l.groups {
		least := hotRate
		if g.base.Type.Indexed() {
			if name = g.base.String(); !l.running {
				least = max(hotRate/maxSpread, 1/l.end.Sub(l.start).Seconds())
			}
		}
		for _, load := range g.shards {
			if load.Low >= least {
				found[name] = suspect{name, g.base, max(g.sum.Low, found[name].sum)}
			}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b suspect) int {
		return cmp.Or(cmp.Compare(b.sum, a.sum), cmp.Compare(a.name, b.name))
	})
}

// evidence is what the window shows of a suspect. Partial says that other stream shards
// may not have reported it. Of a board or a group of sessions each sees a sample of all
// writes.
func (l *loads) evidence(s suspect, partial bool) Evidence {
	e := Evidence{Base: s.base, Start: l.start, End: l.end, Running: l.running}
	if s.base.Type.Indexed() {
		e.Rest = l.indexRest
		l.enterIndex(&e)
		return e
	}
	e.Rest, e.Partial = l.rest, partial
	if g := l.groups[s.name]; g != nil {
		e.Shards, e.Past = g.shards, past(g.base, g.bucket, l.start, l.end)
	}
	return e
}

// enterIndex has the evidence rest on what of the key is in the index, of a board on its
// hottest period, and mind the others' rate: all have as many write shards, on the same partitions of the index.
func (l *loads) enterIndex(e *Evidence) {
	periods := slices.DeleteFunc(slices.Collect(maps.Values(l.groups)), func(g *group) bool { return g.base != e.Base })
	slices.SortFunc(periods, func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.sum.Low, a.sum.Low), cmp.Compare(a.bucket, b.bucket))
	})
	for i, g := range periods {
		if i == 0 {
			e.Shards = g.shards
		} else {
			e.Beside.add(g.sum)
		}
	}
}

// past tells whether a time bucket is an entity's day that no event of a window's own time
// belongs to.
func past(base schema.BaseKey, bucket string, start, end time.Time) bool {
	day := func(at time.Time) string { return schema.EventBucket.Label(at, 0) }
	return base.Type == schema.Entity && bucket != day(start) && bucket != day(end.Add(shardmap.MaxEventAhead))
}
