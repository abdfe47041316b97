package rebuild_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
)

// TestEntitiesUnderTraffic deletes entities while events are written and removed, stream shards end, records are
// redelivered, fragments are merged, and deletes are killed. Afterwards nothing is left that existed before, and the rollup
// equals the other events, minima and maxima included.
func TestEntitiesUnderTraffic(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first, worlds := require.Seed(t), cmp.Or(*schedules, require.Runs(require.UnlessQuick(8, 3), 300))
	var kept, killed int
	for i := range worlds {
		w := newWorld(t, r, fmt.Sprintf("x%d", i), rand.New(rand.NewPCG(first+uint64(i), 0)))
		killed += w.erase(t)
		if len(w.events[w.sound]) > 0 {
			kept++
		}
		if t.Failed() {
			t.Fatalf("HOTSHARD_SEED=%d and -schedules=1 repeat the world", first+uint64(i))
		}
	}
	t.Logf("%d worlds: %d with events that were written meanwhile, %d deletes killed", worlds, kept, killed)
}

// erase deletes the sound entity while things happen, after the delete was killed a few times.
func (w *world) erase(t testing.TB) (killed int) {
	w.erased, w.removes = true, true
	client := enginetest.Around(w.db, w.around(t))
	base := schema.BaseKey{Type: schema.Event, Name: w.sound}
	o := rebuild.EraserOptions{
		Options: rebuild.Options{Names: w.names, Wait: time.Minute, Poll: time.Millisecond, IndexLag: time.Millisecond},
		Settle:  time.Millisecond, WriteUnits: 1_000_000,
	}
	for range 10 + w.random.IntN(50) {
		w.turn(t)
	}
	w.removes = false // a delete presumes that no other process removes events
	for range w.random.IntN(4) {
		w.left, w.dead = 1+w.random.IntN(80), false
		if _, err := rebuild.NewEraser(o, client).Key(t.Context(), base); errors.Is(err, errKilled) {
			killed++
		} else if err != nil {
			t.Errorf("a delete that may be killed: %v", err)
		}
	}
	w.left, w.dead = 0, false
	begun := maps.Clone(w.events[w.sound])
	report, err := rebuild.NewEraser(o, client).Key(t.Context(), base)
	if err != nil || len(report.Left) > 0 {
		t.Errorf("%+v, %v; want nothing left", report, err)
	}
	w.deliverAll(t)
	want := parts.Rollup{}.Clone()
	for sk, value := range w.events[w.sound] {
		if _, old := begun[sk]; old || w.get(t, w.names.Events, dayOf(w.sound, 0), sk) == nil {
			t.Errorf("the event %q existed before the delete: %t, or is not on write shard 0", sk, old)
		}
		want.Add(map[string]string{"t": fmt.Sprint(value)})
	}
	if got := parts.NewEvents(w.db, w.names.Rollups, time.Now).Sum(w.parts(t, w.sound, hour())); !got.Same(want) {
		t.Errorf("the rollup is %+v, want %+v", got, want)
	}
	w.calm = true
	if found := check(t, w.checkerOver(client, nil), hourTarget(w.sound, hour())); len(found) > 0 {
		t.Errorf("findings after the delete: %+v", found)
	}
	return killed
}

// removeEvent deletes an event of the sound entity.
func (w *world) removeEvent(t testing.TB) {
	sk, ok := w.anyEvent(w.sound)
	if !ok {
		return
	}
	for n := range 3 {
		pk := dayOf(w.sound, n)
		if w.get(t, w.names.Events, pk, sk) != nil {
			w.delete(t, w.names.Events, pk, sk)
			w.record("REMOVE", pk, sk, image("Old", w.events[w.sound][sk]))
		}
	}
	delete(w.events[w.sound], sk)
}
