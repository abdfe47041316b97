package parts_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/measures"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/lane"
)

// TestMergesAndFoldsInAnyOrder compares a rollup with a model after each step. Steps are folds, redeliveries,
// merges of all or some fragments, merges of an old read, and repairs that count records before their folds.
func TestMergesAndFoldsInAnyOrder(t *testing.T) {
	lane.Checks(t, 12)
	r := newRig(t)
	streams := []string{"shardId-a", "shardId-b", "shardId-c"}
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		entity := fmt.Sprintf("e%d", round)
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		folded := make([]int, len(streams))
		var old []parts.Part[measures.Part]
		for range rapid.IntRange(1, 25).Draw(t, "turns") {
			switch roll := random.IntN(11); {
			case roll < 5:
				i := random.IntN(len(streams))
				from := random.IntN(folded[i] + 1)
				to := from + 1 + random.IntN(6)
				r.fold(t, random.IntN(2), entity, streams[i], from, to)
				folded[i] = max(folded[i], to)
			case roll < 6:
				old = r.read(t, entity)
			case roll < 7:
				if err := r.replace(entity, old); err != nil && !errors.Is(err, parts.ErrMoved) {
					t.Fatal(err)
				}
			case roll < 8:
				r.restart(t)
			case roll < 9:
				watermarks := map[string]string{}
				for i, streamShard := range streams {
					folded[i] += random.IntN(4)
					watermarks[streamShard] = watermark(folded[i])
				}
				if _, err := r.store.Replace(context.Background(), bucketOf(entity).Key(), r.read(t, entity), eventsOf(folded...), 0, watermarks); err != nil {
					t.Fatal(err)
				}
			default:
				read := r.read(t, entity)
				if len(read) > 0 && read[0].StreamShard != schema.MergedPart {
					read = read[random.IntN(2):]
				}
				if err := r.replace(entity, read); err != nil {
					t.Fatal(err)
				}
			}
			r.check(t, entity, folded...)
		}
	})
}

// TestMergesWhileFolding folds three stream shards, with redeliveries, while another goroutine merges.
func TestMergesWhileFolding(t *testing.T) {
	r := newRig(t)
	streams := []string{"shardId-a", "shardId-b", "shardId-c"}
	events := lane.Runs(60, 120)
	var folders, merger sync.WaitGroup
	ended := make(chan struct{})
	for i, s := range streams {
		random := rand.New(rand.NewPCG(uint64(i), 0))
		folders.Go(func() {
			for done := 0; done < events; {
				from, to := random.IntN(done+1), min(events, done+1+random.IntN(4))
				if _, err := r.containers[random.IntN(2)].Invoke(context.Background(), payload("e", s, from, to)); err != nil {
					t.Error(err)
					return
				}
				done = to
			}
		})
	}
	merged, moved := 0, 0
	merger.Go(func() {
		for {
			select {
			case <-ended:
				return
			default:
			}
			read, err := r.store.Read(context.Background(), bucketOf("e").Key())
			if err == nil {
				err = r.replace("e", read)
			}
			switch {
			case err == nil:
				merged++
			case errors.Is(err, parts.ErrMoved):
				moved++
			default:
				t.Error(err)
				return
			}
		}
	})
	folders.Wait()
	close(ended)
	merger.Wait()
	for i := range streams {
		r.fold(t, 0, "e", streams[i], 0, events)
	}
	t.Logf("%d merges, %d gave way to folds", merged, moved)
	r.check(t, "e", events, events, events)
	r.merge(t, "e")
	r.check(t, "e", events, events, events)
	if last := r.read(t, "e"); last[len(last)-1].Value.Events != int64(3*events) {
		t.Errorf("the fragments after the last merge: %+v, want %d events in the merged one", last, 3*events)
	}
}
