package compact_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/lane"
)

// TestCompactionChangesNoTotal checks that compaction changes no summary. Over many days a counter's write
// shards are made and removed, and events come late. Two containers fold the records, which are
// redelivered for as long as a stream keeps them. The task runs at any time.
func TestCompactionChangesNoTotal(t *testing.T) {
	lane.Checks(t, 7)
	db := enginetest.Client(t)
	names := enginetest.Tables(t, db)
	round, removed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		turns := rapid.IntRange(20, 80).Draw(t, "turns")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), uint64(turns)))
		w := newWorld(t, db, names, fmt.Sprintf("w%d", round), random)
		defer w.end(t)
		for range turns {
			i := w.random.IntN(len(w.streams))
			switch w.random.IntN(10) {
			case 0, 1, 2, 3:
				w.write(t, i)
			case 4, 5:
				w.deliver(t, i, w.done[i]+w.random.IntN(len(w.streams[i])-w.done[i]+1))
			case 6, 7:
				w.redeliver(t, i)
			case 8:
				w.pass(t, time.Duration(w.random.IntN([]int{6, 50}[w.random.IntN(2)]))*time.Hour)
			case 9:
				w.compact(t)
				if w.random.IntN(3) == 0 {
					w.restart(t)
				}
			}
		}
		w.deliverAll(t)
		w.check(t)
		w.pass(t, 73*time.Hour)
		w.compact(t)
		w.check(t)
		w.settled(t)
		removed += w.removed
	})
	if removed == 0 {
		t.Error("no tombstone was ever removed")
	}
}

// TestATombstoneOutlivesWhatItGuardsAgainst redelivers a removed write shard's records each hour for as
// long as a stream keeps them, to containers that cache nothing.
func TestATombstoneOutlivesWhatItGuardsAgainst(t *testing.T) {
	db := enginetest.Client(t)
	w := newWorld(t, db, enginetest.Tables(t, db), "w", rand.New(rand.NewPCG(1, 2)))
	w.count(t, 0, 1, 5)
	w.count(t, 0, 1, 2)
	w.drop(t, 0, 1)
	w.deliverAll(t)
	for range 23 {
		w.pass(t, time.Hour)
		w.compact(t)
		w.restart(t)
		w.hand(t, 0, 0, 2)
		w.check(t)
	}
	if w.removed != 0 {
		t.Fatal("the tombstone was removed while the stream had the records")
	}
	w.pass(t, 26*time.Hour)
	w.compact(t)
	w.settled(t)
	w.count(t, 0, 1, 4)
	w.deliverAll(t)
	w.check(t)
}

// TestALowWatermarkOutlivesWhatItGuardsAgainst merges a rollup soon after its end. Then its records are
// redelivered each hour for as long as a stream keeps them, to containers that cache nothing.
func TestALowWatermarkOutlivesWhatItGuardsAgainst(t *testing.T) {
	db := enginetest.Client(t)
	w := newWorld(t, db, enginetest.Tables(t, db), "w", rand.New(rand.NewPCG(1, 2)))
	for i := range w.streams {
		for range 3 {
			w.putEvent(i)
		}
	}
	w.pass(t, 3*time.Hour) // both hours are over
	w.deliverAll(t)
	w.compact(t)
	w.settled(t)
	for range 20 {
		w.pass(t, time.Hour)
		w.restart(t)
		for i := range w.streams {
			w.hand(t, i, 0, 3)
		}
		w.check(t)
		w.compact(t)
	}
	w.settled(t)
}
