package parts_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/require"
)

// TestMergesAndFoldsInAnyOrder compares a rollup with a model after each step. Steps are folds, redeliveries,
// merges of all or some fragments, merges of an old read, and repairs that count records before their folds.
func TestMergesAndFoldsInAnyOrder(t *testing.T) {
	require.Checks(t, 12)
	r := newRig(t)
	streams := []string{"shardId-a", "shardId-b", "shardId-c"}
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		entity := fmt.Sprintf("e%d", round)
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		folded := make([]int, len(streams))
		var old []parts.Part[parts.Rollup]
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
