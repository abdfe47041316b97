package growth

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// storm is a simulated storm on one key, beside other keys with the load of half a partition. Containers serve one
// request at a time. Partitions take 50 WCU/s.
type storm struct {
	placement  schema.Placement
	partitions int           // of the table; default 64
	rate       float64       // of the storm's requests a second
	quota      int           // containers, at most
	lasting    time.Duration // end of the storm; default 25 s
	begin      time.Duration // start of the storm; default 3 s
	warm       float64       // requests of the key a second, always; default 25
	lead       time.Duration // until a change takes effect
	quiet      int           // other keys; default 20,000
	quietRate  float64       // their requests a second, in total; default 50
	one        bool          // all of the storm's requests write one item
	spread     bool          // requests go to any idle container, not to the newest
	past       bool          // the storm's events are of yesterday
	again      time.Duration // from the storm's end to a second one; 0 for none. Only the second one is measured
	shrunk     bool          // the count is 1 again before the second storm
}

const (
	partitionLimit = 50
	deadline       = 2 * time.Second
	callTime       = 5 * time.Millisecond
	coldStart      = 250 * time.Millisecond
	pollEvery      = time.Second
)

// result counts the outcomes of the key's requests and of the others'.
type result struct {
	offered, accepted int
	rejected          int   // by the API, after retries
	noContainer       int   // rejected because all containers were busy
	steps             []int // shard counts to which the key grew
	quietGrown        int
	quietOffered      int
	quietRejected     int
	reads             int
	bounded           int
	calm              time.Duration // from the storm's begin to the end of the last second with over 1 % of its rate rejected
	rejectedBySecond  map[int]int
}

func (r result) percent(n int) float64 { return 100 * float64(n) / float64(r.offered) }

func (r result) String() string {
	return fmt.Sprintf("accepted %.1f %%, rejected %.1f %%, no container %.1f %%, calm after %v, write shards %v, %d quiet keys grew, %d reads, quiet rejected %.1f %%",
		r.percent(r.accepted), r.percent(r.rejected), r.percent(r.noContainer), r.calm, r.steps, r.quietGrown, r.reads, 100*float64(r.quietRejected)/float64(max(1, r.quietOffered)))
}

// world is the state of a simulation.
type world struct {
	storm
	rng    *rand.Rand
	now    time.Duration
	events events
	serial int
	calls  uint64

	buckets []bucket
	places  map[place]int
	entries map[string]*entry
	idle    []*container
	started int
	result
}

// bucket is the token bucket of a partition.
type bucket struct {
	tokens float64
	at     time.Duration
}

// place is a write shard of a key.
type place struct {
	key        string
	day, shard int
}

// entry is a key's entry in the shard map.
type entry struct {
	version       int64
	count, before int
	effective     time.Duration
	changed       time.Duration
}

const never = -time.Hour

// container is a function's container, with its view of the shard map.
type container struct {
	keys  *Keys
	views map[string]*view
}

type view struct {
	entry
	polled time.Duration
}

// call is one request.
type call struct {
	key        string
	item       float64 // from 0 to 1; a calculated write shard is calculated from it
	at         time.Duration
	born, dead time.Duration
	tries      int
	number     uint64
	hot        bool
}

func (c *call) id() uint64 { return uint64(c.item * (1 << 53)) }

type event struct {
	at     time.Duration
	serial int
	do     func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].serial < e[j].serial
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

var modelEpoch = time.Unix(1_800_000_000, 0)

func clockAt(d time.Duration) time.Time { return modelEpoch.Add(d) }

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// run simulates the storm.
func (s storm) run(seed uint64) result {
	setDefault(&s.partitions, 64)
	setDefault(&s.lasting, 25*time.Second)
	setDefault(&s.begin, 3*time.Second)
	setDefault(&s.warm, partitionLimit/2)
	setDefault(&s.quiet, 20_000)
	setDefault(&s.quietRate, 50)
	w := &world{storm: s, rng: rand.New(rand.NewPCG(seed, 1)), places: map[place]int{}, entries: map[string]*entry{}}
	w.rejectedBySecond = map[int]int{}
	w.buckets = make([]bucket, s.partitions)
	for i := range w.buckets {
		w.buckets[i].tokens = partitionLimit
	}
	w.always(s.quietRate, func() call { return call{key: fmt.Sprint("quiet", w.rng.IntN(s.quiet)), item: w.rng.Float64()} })
	w.always(s.warm, func() call { return call{key: "hot", hot: true, item: w.rng.Float64()} })
	w.arrivals(s.begin, s.rate, w.stormy)
	if s.again > 0 {
		w.in(s.lasting+s.again, w.stormAgain)
	}
	for len(w.events) > 0 {
		next := heap.Pop(&w.events).(event)
		if w.now = next.at; w.now > w.end()+deadline {
			break
		}
		next.do()
	}
	return w.outcome()
}

// stormy draws one of the storm's calls.
func (w *world) stormy() call {
	c := call{key: "hot", hot: true, item: w.rng.Float64()}
	if w.one {
		c.item = 0.5
	}
	if w.past {
		c.at = -48 * time.Hour
	}
	return c
}

// stormAgain drops the results so far and begins the second storm.
func (w *world) stormAgain() {
	if w.shrunk {
		e := w.entry("hot")
		*e = entry{version: e.version + 1, count: 1, before: e.count, effective: w.now - time.Hour/2, changed: w.now - time.Hour/2}
	}
	w.result = result{rejectedBySecond: map[int]int{}}
	w.begin, w.lasting, w.again = w.now, w.now+w.lasting-w.begin, 0
	w.arrivals(w.now, w.rate, w.stormy)
}

// end returns the end of the last storm.
func (w *world) end() time.Duration {
	if w.again > 0 {
		return 2*w.lasting + w.again
	}
	return w.lasting
}

// outcome returns the result at the end.
func (w *world) outcome() result {
	for key, e := range w.entries {
		if key != "hot" && e.count > 1 {
			w.quietGrown++
		}
	}
	for second, n := range w.rejectedBySecond {
		if end := time.Duration(second+1)*time.Second - w.begin; float64(n) > 0.01*w.rate {
			w.calm = max(w.calm, end)
		}
	}
	return w.result
}

// in schedules an event after a delay.
func (w *world) in(d time.Duration, do func()) {
	w.serial++
	heap.Push(&w.events, event{w.now + d, w.serial, do})
}

// random returns a random duration below d.
func (w *world) random(d time.Duration) time.Duration {
	return time.Duration(w.rng.Float64() * float64(d))
}

// always makes calls until the end of the last storm.
func (w *world) always(rate float64, draw func() call) {
	w.arrivalsUntil(w.end(), 0, rate, draw)
}

// arrivals makes a storm's calls until its end.
func (w *world) arrivals(from time.Duration, rate float64, draw func() call) {
	w.arrivalsUntil(w.lasting, from, rate, draw)
}

// arrivalsUntil makes calls at random intervals with a mean rate per second.
func (w *world) arrivalsUntil(end, from time.Duration, rate float64, draw func() call) {
	if rate == 0 {
		return
	}
	var next func()
	next = func() {
		if w.now < end {
			w.in(time.Duration(w.rng.ExpFloat64()/rate*float64(time.Second)), next)
		}
		w.arrive(draw())
	}
	w.in(from-w.now, next)
}

// arrive gives a call to an idle container or a new one. It rejects the call if all containers are busy.
func (w *world) arrive(c call) {
	if c.hot {
		w.offered++
	} else {
		w.quietOffered++
	}
	c.born = w.now
	if c.at == 0 {
		c.at = w.now
	}
	if n := len(w.idle); n > 0 { // the container that became idle last
		if w.spread {
			i := w.rng.IntN(n)
			w.idle[i], w.idle[n-1] = w.idle[n-1], w.idle[i]
		}
		box := w.idle[n-1]
		w.idle = w.idle[:n-1]
		w.serve(box, &c)
		return
	}
	if w.started == w.quota {
		w.reject(&c, &w.noContainer)
		return
	}
	w.started++
	box := &container{keys: NewKeys(MaxKeys), views: map[string]*view{}}
	w.in(coldStart, func() { w.serve(box, &c) })
}

// reject counts a rejected call. A quiet key's call is counted separately.
func (w *world) reject(c *call, why *int) {
	if !c.hot {
		w.quietRejected++
		return
	}
	*why++
	w.rejectedBySecond[int(w.now/time.Second)]++
}

// serve begins a call in a container, after a poll of the key's entry if that is due.
func (w *world) serve(box *container, c *call) {
	c.dead = w.now + deadline
	v := box.views[c.key]
	if v == nil {
		v = &view{entry: entry{count: 1, effective: never, changed: never}, polled: never}
		box.views[c.key] = v
	}
	w.calls++
	c.number = w.calls
	if w.now-v.polled > pollEvery {
		v.polled = w.now
		v.entry = *w.entry(c.key)
	}
	w.attempt(box, c)
}

// entry returns a key's entry in the shard map.
func (w *world) entry(key string) *entry {
	e := w.entries[key]
	if e == nil {
		e = &entry{count: 1, effective: never, changed: never}
		w.entries[key] = e
	}
	return e
}

// attempt sends a write to a partition.
func (w *world) attempt(box *container, c *call) {
	sent := box.views[c.key].entry
	to := place{key: c.key, shard: w.rng.IntN(sent.count)}
	if w.placement != schema.RandomPlacement {
		n := sent.count
		if w.placement == schema.TimedPlacement && c.at < sent.effective {
			n = sent.before
		}
		to = place{c.key, int(c.at / (24 * time.Hour)), int(c.item * float64(n))}
	}
	ok := w.consume(1, to)
	w.in(callTime, func() {
		w.observe(box, c, sent, to.shard, outcome(!ok), func() { w.goOn(box, c, ok) })
	})
}

// consume consumes write units of each place's partition, and reports whether it did. All partitions must have a unit.
func (w *world) consume(units float64, places ...place) bool {
	var partitions []*bucket
	for _, to := range places {
		n, placed := w.places[to]
		if !placed {
			n = w.rng.IntN(w.partitions)
			w.places[to] = n
		}
		b := &w.buckets[n]
		b.tokens = min(partitionLimit, b.tokens+partitionLimit*(w.now-b.at).Seconds())
		b.at = w.now
		if b.tokens < 1 {
			return false
		}
		partitions = append(partitions, b)
	}
	for _, b := range partitions {
		b.tokens -= units
	}
	return true
}

// observe passes an attempt to the container's Keys, acts on the answer, and then calls then.
func (w *world) observe(box *container, c *call, sent entry, n int, o shard.Outcome, then func()) {
	a := shard.Attempt{
		Key: c.key, Kind: kindOf(w.placement), Shard: n, Version: sent.version, Shards: sent.count, Before: sent.before,
		Effective: clockAt(sent.effective), Changed: clockAt(sent.changed), At: clockAt(c.at), Call: c.number, Items: c.id(), Outcome: o,
	}
	switch box.keys.Observe(a, Bound(w.partitions), clockAt(w.now)) {
	case Bounded:
		w.bounded++
	case Refresh:
		w.in(callTime, func() { w.refresh(box, c.key); then() })
		return
	case Ask:
		w.in(w.random(MaxWait)+callTime, func() { w.consider(box, c.key, a); then() })
		return
	}
	then()
}

// goOn ends a request that succeeded or has no time left, and retries any other.
func (w *world) goOn(box *container, c *call, ok bool) {
	if ok {
		if c.hot {
			w.accepted++
		}
		w.idle = append(w.idle, box)
		return
	}
	c.tries++
	wait := w.random(min(800*time.Millisecond, 25*time.Millisecond<<c.tries))
	if w.now+wait > c.dead {
		w.reject(c, &w.rejected)
		w.idle = append(w.idle, box)
		return
	}
	w.in(wait, func() { w.attempt(box, c) })
}

// refresh reads the key's entry.
func (w *world) refresh(box *container, key string) {
	w.reads++
	v := box.views[key]
	v.polled, v.entry = w.now, *w.entry(key)
}

// consider reads the key's entry, and changes it unless another container has.
func (w *world) consider(box *container, key string, a shard.Attempt) {
	v, e, now := box.views[key], w.entry(key), clockAt(w.now)
	w.reads++
	v.polled = w.now
	if e.version == v.version && box.keys.MayGrow(a, now) {
		*e = entry{
			version: e.version + 1, count: Next(schema.TraitsOf(schema.Kind(a.Kind)), e.count, Bound(w.partitions)), before: e.count,
			effective: w.now + w.lead, changed: w.now,
		}
		if key == "hot" {
			w.steps = append(w.steps, e.count)
		}
	}
	v.entry = *e
	box.keys.Asked(a.Key, e.version, now)
}
