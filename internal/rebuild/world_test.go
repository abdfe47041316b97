package rebuild_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
)

// world is two entities and two counters, whose writes go through stream shards that split, and are delivered late, and
// again. Faults hit the second of each. Checks run meanwhile: before each of their calls something may happen.
type world struct {
	*rig
	mu     sync.Mutex
	random *rand.Rand
	name   string
	calm   bool // nothing happens but deliveries
	left   int  // writes of a check or delete until its process is killed; 0 for never
	dead   bool // it was killed

	erased  bool // the sound entity is deleted: nothing is damaged
	removes bool // some of its events are removed
	roots   [2]*node
	nodes   []*node
	folds   [2]*fold.Handler
	last    int // sequence number

	sound, hurt string                      // names of the entities and of the counters
	events      map[string]map[string]int   // by entity and sort key: the number that reads return
	places      map[string]map[string][]int // by entity and sort key: write shards
	single      bool                        // the entity's count was reset to 1
}

// growths is the history of the entities' shard counts: 1, and 3 in the second half of hour().
func growths() *types.AttributeValueMemberL {
	return &types.AttributeValueMemberL{Value: []types.AttributeValue{dynamo.String(fmt.Sprintf("%d:3", hour().Add(30*time.Minute).Unix()))}}
}

func newWorld(t testing.TB, r *rig, name string, random *rand.Rand) *world {
	w := &world{rig: r, random: random, name: name, sound: name + "-sound", hurt: name + "-hurt",
		events: map[string]map[string]int{}, places: map[string]map[string][]int{}}
	for i := range w.roots {
		w.roots[i] = &node{name: fmt.Sprintf("%s-%d", name, i)}
		w.nodes = append(w.nodes, w.roots[i])
		w.folds[i] = r.aggregator(t, r.db)
	}
	for _, of := range []string{w.sound, w.hurt} {
		w.events[of], w.places[of] = map[string]int{}, map[string][]int{}
		for _, key := range []string{"E#" + of, "C#" + of} {
			pk, sk := schema.MapKey(key)
			r.putItem(t, r.names.ShardMap, pk, sk, item{"version": num(1), "shard_history": growths()})
		}
	}
	return w
}

func image(kind string, value int) string {
	return fmt.Sprintf(`,"%sImage":{KEYS,"data":{"M":{"t":{"N":"%d"}}}}`, kind, value)
}

// store stores an event on a write shard, and records it, unless its record is lost.
func (w *world) store(t testing.TB, entity, sk string, writeShard, value int, lost bool) {
	pk := dayOf(entity, writeShard)
	w.putItem(t, w.names.Events, pk, sk, item{"data": &types.AttributeValueMemberM{Value: item{"t": num(value)}}})
	w.places[entity][sk] = append(w.places[entity][sk], writeShard)
	if !lost {
		w.record("INSERT", pk, sk, image("New", value))
	}
}

// home returns the write shard by the count at an event's time.
func (w *world) home(sk string) int {
	at, id, _ := schema.ParseEventSortKey(sk)
	n := 1
	if !w.single && !at.Before(hour().Add(30*time.Minute)) {
		n = 3
	}
	return shard.Calculated(id, n)
}

// putEvent stores a new event, on another write shard than its home if it is stray.
func (w *world) putEvent(t testing.TB, entity string, stray, lost bool) {
	at := hour().Add(time.Duration(w.random.IntN(3600_000)) * time.Millisecond)
	sk, value := schema.EventSortKey(at, fmt.Sprint("id", w.last)), w.random.IntN(100)
	on := w.home(sk)
	if stray {
		on = (on + 1 + w.random.IntN(2)) % 3
	}
	w.events[entity][sk] = value
	w.store(t, entity, sk, on, value, lost)
}

// anyEvent returns the sort key of an event; ok is false if there is none.
func (w *world) anyEvent(entity string) (sk string, ok bool) {
	list := slices.Sorted(maps.Keys(w.events[entity]))
	if len(list) == 0 {
		return "", false
	}
	return list[w.random.IntN(len(list))], true
}

// copyEvent stores an event on another write shard, with its own data or other data.
func (w *world) copyEvent(t testing.TB, entity string) {
	sk, ok := w.anyEvent(entity)
	if !ok {
		return
	}
	on := w.random.IntN(3)
	if w.get(t, w.names.Events, dayOf(entity, on), sk) != nil {
		return
	}
	value := w.events[entity][sk] + w.random.IntN(2)
	w.store(t, entity, sk, on, value, w.random.IntN(8) == 0)
	if on == w.home(sk) {
		w.events[entity][sk] = value
	} else if w.get(t, w.names.Events, dayOf(entity, w.home(sk)), sk) == nil {
		w.events[entity][sk] = -1 // the lowest write shard's
	}
}

// count increments a counter on a write shard, unless its record is lost.
func (w *world) count(t testing.TB, counter string, lost bool) {
	n := 1 + w.random.IntN(2)
	w.addTo(t, counter, n, w.random.IntN(9)-3)
	if !lost {
		w.recordCount(t, counter, n)
	}
}

// recordCount records a write shard of a counter as it is.
func (w *world) recordCount(t testing.TB, counter string, n int) {
	pk, sk := schema.CounterKey(counter, n)
	it := w.get(t, w.names.Items, pk, sk)
	w.record("MODIFY", pk, sk, fmt.Sprintf(`,"NewImage":{KEYS,"rev":{"N":"%s"},"value":{"N":"%s"}}`, dynamo.Digits(it, "rev"), dynamo.Digits(it, "value")))
}

// merge merges the fragments of a rollup into one, as the compaction does.
func (w *world) merge(t testing.TB, entity string) {
	store := parts.NewEvents(w.db, w.names.Rollups, time.Now)
	b := parts.Bucket{Entity: entity, Start: hour()}
	read, err := store.Read(context.Background(), b.Key())
	if err == nil {
		if chosen := store.Choose(read, func(measuresPart) bool { return w.random.IntN(3) > 0 }); len(chosen) > 0 {
			_, _, err = store.Merge(context.Background(), b.Key(), read, chosen, 0)
		}
	}
	if err != nil {
		t.Errorf("merging: %v", err)
	}
}

type measuresPart = parts.Part[parts.Rollup]

// damageOne changes a summary of what is hurt.
func (w *world) damageOne(t testing.TB) {
	if w.random.IntN(2) == 0 {
		w.update(t, w.names.Rollups, schema.SummaryKey(w.hurt, 1), "-", "SET v = :one, x1 = :x, r1 = :r", item{":one": num(1), ":x": num(w.random.IntN(9)), ":r": num(w.random.IntN(2) * int(time.Now().UnixMicro()+1e9))})
		return
	}
	for _, p := range w.parts(t, w.hurt, hour()) {
		if p.StreamShard != schema.MergedPart && !p.Emptied() {
			pk, sk := schema.RollupKey(w.hurt, hour(), p.StreamShard)
			w.update(t, w.names.Rollups, pk, sk, "SET events = events + :n, seq = :new", item{":n": num(1 + w.random.IntN(7)), ":new": dynamo.String(p.Sequence + "!")})
			return
		}
	}
}

// turn makes something happen.
func (w *world) turn(t testing.TB) {
	n := w.nodes[w.random.IntN(len(w.nodes))]
	some := []string{w.sound, w.hurt}[w.random.IntN(2)]
	switch hurt := some == w.hurt; w.random.IntN(16) {
	case 0, 1, 2:
		w.putEvent(t, some, hurt && w.random.IntN(5) == 0, hurt && w.random.IntN(5) == 0)
	case 3, 4:
		w.count(t, some, hurt && w.random.IntN(5) == 0)
	case 5, 6, 7, 8:
		w.deliver(t, n, 1+w.random.IntN(4))
	case 9, 10:
		w.redeliver(t)
	case 11:
		w.split()
	case 12:
		w.merge(t, some)
	case 13:
		w.copyEvent(t, w.hurt)
	case 14:
		switch {
		case !w.erased:
			w.damageOne(t)
		case w.removes:
			w.removeEvent(t)
		}
	case 15:
		w.folds[w.random.IntN(2)] = w.aggregator(t, w.db) // a new container, which caches nothing
	}
}

func (w *world) targets() []schema.Target {
	return []schema.Target{hourTarget(w.sound, hour()), hourTarget(w.hurt, hour()), counterTarget(w.sound), counterTarget(w.hurt)}
}

// play runs checks and repairs while things happen, and then compares.
func (w *world) play(t testing.TB) {
	client := enginetest.Around(w.db, w.around(t))
	checker := func(repair, lower bool) *rebuild.Checker {
		return w.checkerOver(client, func(o *rebuild.Options) { o.Repair, o.Lower, o.Poll = repair, lower, time.Millisecond })
	}
	for range 4 + w.random.IntN(24) {
		w.turn(t)
	}
	for range 1 + w.random.IntN(3) {
		target := w.targets()[w.random.IntN(4)]
		repair := w.random.IntN(4) > 0
		for _, f := range check(t, checker(repair, repair && w.random.IntN(2) == 0), target) {
			if target.Base.Name == w.sound && f.State != rebuild.Busy && (f.State != rebuild.Stale || !repair) {
				t.Errorf("a right summary has the finding %+v", f)
			}
		}
	}
	w.deliverAll(t)
	w.wantSums(t, w.sound)
	w.calm = true
	for _, target := range w.targets() {
		check(t, checker(true, true), target)
		w.deliverAll(t)
		if found := check(t, checker(false, false), target); len(found) > 0 {
			t.Errorf("findings after the last repair: %+v", found)
		}
	}
	w.wantSums(t, w.sound)
	w.wantSums(t, w.hurt)
	w.wantEachOnce(t)
}
