package folds

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/schema"
)

// item is one of a table's.
type item = rig.Item

// books hold what callers sent, and what was applied, as the clients of ingest saw it.
type books struct {
	*report
	mu       sync.Mutex
	counters map[string]*counter
	events   map[identity]*event
}

// tally is what one call of the API did, as the clients of ingest saw it: they find it in
// its context. It is under the books' mu.
type tally struct{ transactions int } // that were applied

type tallyKey struct{}

// withTally has what is applied in a context counted.
func withTally(ctx context.Context) (context.Context, *tally) {
	t := &tally{}
	return context.WithValue(ctx, tallyKey{}, t), t
}

// tallyIn returns a context's tally; one that nobody reads if it has none.
func tallyIn(ctx context.Context) *tally {
	if t, ok := ctx.Value(tallyKey{}).(*tally); ok {
		return t
	}
	return &tally{}
}

// transaction books a transaction that was applied.
func (b *books) transaction(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	tallyIn(ctx).transactions++
}

// once wants a keyed call that was answered to have been applied once, and counts its size.
func (b *books) once(key string, t *tally, figure string, size int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.transactions != 1 {
		b.differ("call %s was applied %d times", key, t.transactions)
		return
	}
	b.count(figure, size)
}

// counter is what happened to one.
type counter struct {
	sum             int64 // of all that was applied, but for removed write shards
	called, inCalls int64 // what keyed calls have, and what their transactions added

	// Unkeyed calls make one update each.
	accepted int // calls
	updates  int // that were applied
	lost     int // updates whose answer was lost, and calls that say nothing for sure
}

// counter returns a counter's. The caller holds mu.
func (b *books) counter(name string) *counter {
	if b.counters[name] == nil {
		b.counters[name] = &counter{}
	}
	return b.counters[name]
}

// deltaOf is what an update adds to a counter; ok is false for all others.
func deltaOf(key, values item) (name string, delta int64, ok bool) {
	digits, ok := values[":delta"].(*types.AttributeValueMemberN)
	if !ok {
		return "", 0, false
	}
	parsed, err := schema.ParseKey(rig.Text(key[schema.PK]))
	if err == nil {
		delta, err = strconv.ParseInt(digits.Value, 10, 64)
	}
	return parsed.Base.Name, delta, err == nil
}

// update books an update that was applied.
func (b *books) update(key, values item, lost bool) {
	name, delta, ok := deltaOf(key, values)
	if !ok {
		return
	}
	b.count("increments: updates applied", 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.counter(name)
	c.sum += delta
	c.updates++
	if lost {
		c.lost++
	}
}

// transacted books an update of a transaction that was applied.
func (b *books) transacted(key, values item) {
	name, delta, ok := deltaOf(key, values)
	if !ok {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counter(name).sum += delta
	b.counter(name).inCalls += delta
}

// keyed books a keyed call that was answered.
func (b *books) keyed(list []increment) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, i := range list {
		b.counter(i.Counter).called += i.Delta
	}
}

// unkeyed books an unkeyed call, and its results if it was answered.
func (b *books) unkeyed(list []increment, results []result) {
	said := map[string]result{}
	for _, r := range results {
		said[r.Counter] = r
		if r.accepted() {
			b.count("increments: unkeyed and accepted", 1)
		}
	}
	called := map[string]bool{}
	for _, i := range list {
		called[i.Counter] = true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for name := range called {
		r, answered := said[name]
		if r.accepted() {
			b.counter(name).accepted++
		} else if !answered || r.unsure() {
			b.counter(name).lost++
		}
	}
}

// removed books that a counter's write shard was removed.
func (b *books) removed(name string, value int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counter(name).sum -= value
}

// identity is an event's: what is the same event has the same.
type identity struct{ entity, sk string }

// event is what became of one.
type event struct {
	first    item // data that it was put with first
	last     item // and last
	restated bool // it was put again with other data
}

// dataOf leaves an event's data, which few lack.
func dataOf(it item) item {
	data := maps.Clone(it)
	maps.DeleteFunc(data, func(name string, _ types.AttributeValue) bool { return name != "data" })
	return data
}

// identityOf returns whose item it is; ok is false for all but events.
func identityOf(pk, sk string) (id identity, ok bool) {
	key, err := schema.ParseKey(pk)
	if err != nil || key.Base.Type != schema.Entity {
		return id, false
	}
	_, _, err = schema.ParseEventSortKey(sk)
	return identity{key.Base.Name, sk}, err == nil
}

// target is the rollup that an event falls into, as failures and audits name it.
func (s *system) target(id identity) string {
	width, _ := s.rules.Bucket(id.entity)
	at, _, err := schema.ParseEventSortKey(id.sk)
	if err != nil {
		panic(err) // it was parsed before
	}
	return schema.EventTarget(id.entity, width, at)
}

// put books an item that was put, if it is an event. Puts of one event at a time have
// the same data.
func (b *books) put(it item) {
	id, ok := identityOf(rig.Text(it[schema.PK]), rig.Text(it[schema.SK]))
	if !ok {
		return
	}
	data := dataOf(it)
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.events[id]
	if e == nil {
		b.events[id] = &event{first: data, last: data}
		return
	}
	if !reflect.DeepEqual(e.last, data) {
		e.last, e.restated = data, true
	}
}

// accepted wants an event that was accepted to be written.
func (b *books) accepted(id identity) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count("events: accepted", 1)
	if b.events[id] == nil {
		b.differ("event %v was accepted and not written", id)
	}
}

// wanted is what a counter comes to, once what its calls say was held against what was
// applied.
func (b *books) wanted(name string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.counter(name)
	if c.called != c.inCalls {
		b.differ("counter %s: keyed calls have %d, and %d was applied", name, c.called, c.inCalls)
	}
	if c.updates < c.accepted || c.updates > c.accepted+c.lost {
		b.differ("counter %s: %d calls were accepted and %d answers lost, and %d updates were applied", name, c.accepted, c.lost, c.updates)
	}
	return fmt.Sprint(c.sum)
}
