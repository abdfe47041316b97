package folds

import (
	"context"
	"maps"
	"reflect"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// item is one of a table's.
type item = dynamo.Item

// books hold what callers sent, and what was applied, as the clients of ingest saw it.
type books struct {
	*report
	mu     sync.Mutex
	sums   map[string]int64 // what calls added to counters, but for removed write shards
	events map[identity]*event
}

// tally is what one call of the API did, as the clients of ingest saw it: they find it in
// its context. It is under the books' mu.
type tally struct {
	transactions int // that were applied
	counters     map[string]*outcome
	events       map[identity]bool // that were put
}

// outcome is what happened to one counter.
type outcome struct {
	applied int   // updates
	lost    int   // of these, without an answer
	sum     int64 // that they added
}

// of returns a counter's. The caller holds the books' mu.
func (t *tally) of(counter string) *outcome {
	if t.counters[counter] == nil {
		t.counters[counter] = &outcome{}
	}
	return t.counters[counter]
}

type tallyKey struct{}

// withTally has what is applied in a context counted.
func withTally(ctx context.Context) (context.Context, *tally) {
	t := newTally()
	return context.WithValue(ctx, tallyKey{}, t), t
}

// tallyIn returns a context's tally; one that nobody reads if it has none.
func tallyIn(ctx context.Context) *tally {
	if t, ok := ctx.Value(tallyKey{}).(*tally); ok {
		return t
	}
	return newTally()
}

func newTally() *tally { return &tally{counters: map[string]*outcome{}, events: map[identity]bool{}} }

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

// deltaOf is what an update adds to a counter; ok is false for all others.
func deltaOf(key, values item) (name string, delta int64, ok bool) {
	digits, ok := values[":delta"].(*types.AttributeValueMemberN)
	if !ok {
		return "", 0, false
	}
	parsed, err := schema.ParseKey(dynamo.Text(key, schema.PK))
	if err == nil {
		delta, err = strconv.ParseInt(digits.Value, 10, 64)
	}
	return parsed.Base.Name, delta, err == nil
}

// update books an update of a counter that was applied. That of a transaction whose answer
// is lost is not made again.
func (b *books) update(ctx context.Context, key, values item, lost bool) {
	name, delta, ok := deltaOf(key, values)
	if !ok {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	o := tallyIn(ctx).of(name)
	o.applied++
	o.sum += delta
	if lost {
		o.lost++
	}
}

// settle books what a call did to its counters, if that is allowed: what is accepted was
// added, and once more at most for each answer that was lost; what is rejected was not,
// unless that is said. Of a call without an answer one update more may have had its own.
func (b *books) settle(t *tally, list []increment, results []result, answered bool) {
	said, totals := map[string]result{}, map[string]int64{}
	for _, r := range results {
		said[r.Counter] = r
	}
	for _, i := range list {
		totals[i.Counter] += i.Delta
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, total := range totals {
		o, r, most := t.of(name), said[name], t.of(name).lost
		if r.accepted() || !answered {
			most++
		}
		switch {
		case r.accepted() && o.applied == 0:
			b.differ("counter %s: %d was accepted and not added", name, total)
		case r.Status != "" && !r.accepted() && !r.unsure() && o.applied > 0:
			b.differ("counter %s: %d was refused and added %d times", name, total, o.applied)
		case o.applied > most:
			b.differ("counter %s: %d was added %d times with %d answers lost", name, total, o.applied, o.lost)
		case o.sum != int64(o.applied)*total:
			b.differ("counter %s: %d was added instead of %d times %d", name, o.sum, o.applied, total)
		}
		b.count("increments: updates applied", o.applied)
		b.sums[name] += o.sum
	}
}

// removed books that a counter's write shard was removed.
func (b *books) removed(name string, value int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sums[name] -= value
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

// identityOf returns the identity of an event by its key; ok is false for other items.
func identityOf(pk, sk string) (id identity, ok bool) {
	key, err := schema.ParseKey(pk)
	if err != nil || key.Base.Type != kind.Event {
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
func (b *books) put(ctx context.Context, it item) {
	id, ok := identityOf(dynamo.Text(it, schema.PK), dynamo.Text(it, schema.SK))
	if !ok {
		return
	}
	data := dataOf(it)
	b.mu.Lock()
	defer b.mu.Unlock()
	tallyIn(ctx).events[id] = true
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

// rejected wants an event that was rejected not to be written by the same call, unless
// that is said.
func (b *books) rejected(id identity, t *tally, r result) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.events[id] && !r.unsure() {
		b.differ("event %v was rejected and written: %s", id, r.Detail)
	}
}
