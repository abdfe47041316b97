package hotkey

import (
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// putTime bounds how long a run's beats take to be written. What a beat proves
// begins with the write, which is up to so much after the time in it.
const putTime = 5 * time.Second

// coverage gathers, out of heat items, what there is to know about the load of one
// base key with n write shards.
type coverage struct {
	base    schema.BaseKey
	name    string // what its partition keys have before the write shard's number
	n       int
	beats   map[int][]time.Time // seen for each write shard, in no order
	windows map[windowID]*seen
}

// windowID tells windows apart.
type windowID struct{ start, length int64 } // milliseconds

// seen is what all items of a window say of a key.
type seen struct {
	units     uint64 // at most, on the write shards that they list
	listed    uint64 // sum, over the items, of Rest for each write shard listed
	offered   uint64
	failed    uint64
	throttled bool
}

// covered is what heat items say of several keys.
type covered struct {
	keys    map[string]*coverage // by name
	windows map[windowID]*common
}

// common is what all items of a window say of every key.
type common struct {
	rest               uint64 // at most so much went to a key that no item lists
	hidden, incomplete bool
}

func newCovered() *covered {
	return &covered{keys: make(map[string]*coverage), windows: make(map[windowID]*common)}
}

func (c *covered) watch(base schema.BaseKey, n int, now time.Time) *coverage {
	k := &coverage{
		base: base, name: partitionName(base, now), n: n,
		beats: make(map[int][]time.Time), windows: make(map[windowID]*seen),
	}
	c.keys[k.name] = k
	return k
}

func (c *covered) add(item heat.Item) {
	id := windowID{item.Start.UnixMilli(), item.Window.Milliseconds()}
	all := c.windows[id]
	if all == nil {
		all = new(common)
		c.windows[id] = all
	}
	all.rest += item.Rest
	all.hidden = all.hidden || item.Hidden > 0
	all.incomplete = all.incomplete || item.Incomplete
	for _, key := range item.Keys {
		c.addKey(id, key, item.Rest)
	}
	for _, s := range item.Sightings {
		base, err := schema.ParseBaseKey(s.Base)
		if k := c.keys[partitionName(base, item.Start)]; err == nil && k != nil {
			w := k.window(id)
			w.offered += s.Offered
			w.failed += s.Failed
			w.throttled = w.throttled || s.Throttled > 0
		}
	}
	for _, b := range item.Beats {
		if k := c.keys[b.Name]; k != nil {
			for _, n := range b.Shards {
				k.beats[n] = append(k.beats[n], b.At)
			}
		}
	}
}

func (c *covered) addKey(id windowID, key heat.Key, rest uint64) {
	name, n, err := shard.Hash.Split(key.Key)
	k := c.keys[name]
	if err != nil || k == nil || key.Index != "" {
		return
	}
	w := k.window(id)
	w.units += key.Units + key.Err
	if n < k.n {
		w.listed += rest
	}
	w.throttled = w.throttled || key.Status == heat.Saturated
}

func (k *coverage) window(id windowID) *seen {
	if k.windows[id] == nil {
		k.windows[id] = new(seen)
	}
	return k.windows[id]
}

// calm says what is known of a key's load in the newest time of that length that
// is covered, but not of times before since. What was seen after it, where more may
// have been, counts all the same.
func (c *covered) calm(k *coverage, length, maxGap time.Duration, since time.Time) Calm {
	from, to := k.span(maxGap)
	from = latest(from.Add(putTime), to.Add(-length), since)
	if to.IsZero() || to.Before(from) {
		return Calm{Base: k.base}
	}
	calm := Calm{Base: k.base, From: from, To: to}
	for id, all := range c.windows {
		if end := time.UnixMilli(id.start + id.length); !end.After(from) {
			continue
		}
		w := k.windows[id]
		if w == nil {
			w = new(seen)
		}
		seconds := float64(id.length) / 1000
		most := float64(w.units+w.failed+uint64(k.n)*all.rest-w.listed) / seconds
		calm.Peak = max(calm.Peak, most, float64(w.offered))
		calm.Throttled = calm.Throttled || w.throttled || all.hidden
		calm.Incomplete = calm.Incomplete || all.incomplete
	}
	return calm
}

func latest(first time.Time, more ...time.Time) time.Time {
	for _, t := range more {
		if t.After(first) {
			first = t
		}
	}
	return first
}

// span returns the newest time in which all that was written to the key has been
// counted, as far as beats prove it: on every write shard one beat follows the
// other without a gap. A stream shard is read in order, so what was written
// between two beats that came through came through too. Zero times for none.
func (k *coverage) span(maxGap time.Duration) (from, to time.Time) {
	for n := range k.n {
		beats := k.beats[n]
		if len(beats) == 0 {
			return time.Time{}, time.Time{}
		}
		slices.SortFunc(beats, time.Time.Compare)
		first := len(beats) - 1
		for first > 0 && beats[first].Sub(beats[first-1]) <= maxGap {
			first--
		}
		from = latest(from, beats[first])
		if last := beats[len(beats)-1]; n == 0 || last.Before(to) {
			to = last
		}
	}
	return from, to
}
