//go:build long

package fold_test

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/mapfake"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

func never() bool { return false }

// TestFoldsCost counts the write units of the rollups table for each write of a counter. There are four
// stream shards, a batching window of 1 s, and at most 1,000 records a batch. All records of the stream are
// delivered, as without the mapping's filter.
func TestFoldsCost(t *testing.T) {
	const writes = 40_000
	zipf := func(targets uint64) func(*rand.Rand) func() uint64 {
		return func(random *rand.Rand) func() uint64 { return rand.NewZipf(random, 1.1, 1, targets-1).Uint64 }
	}
	for _, c := range []struct {
		name   string
		draw   func(*rand.Rand) func() uint64
		rate   int // writes a second
		grows  []int
		atMost float64
	}{
		{"1,000 counters, Zipf 1.1", zipf(1000), 1000, nil, 0.02},
		{"100,000 counters, Zipf 1.1", zipf(100_000), 1000, nil, 0.02},
		{"100,000 counters, uniform", func(random *rand.Rand) func() uint64 { return func() uint64 { return random.Uint64N(100_000) } }, 1000, nil, 0.02},
		{"one counter, N 1 to 64", func(*rand.Rand) func() uint64 { return func() uint64 { return 0 } }, 1000, []int{4, 16, 64}, 0.1},
		{"one counter, N 1 to 64", func(*rand.Rand) func() uint64 { return func() uint64 { return 0 } }, 4000, []int{4, 16, 64}, 0.1},
	} {
		ctx, draw := t.Context(), c.draw(rand.New(rand.NewPCG(1, 0)))
		l, table := newLedger(), mapfake.New(1000, 0, 0)
		shards := shardmap.New(table, "map", shardmap.Options{})
		now := time.Date(2126, 1, 5, 12, 0, 0, 0, time.UTC)
		changer := shardmap.NewChanger(table, shards, shardmap.ChangerOptions{Clock: func() time.Time { return now }})
		w, h := counters.NewWriter(l, "items", shards, counters.Options{}), newCounterFolds(t, l)
		storm := c.grows != nil
		seconds := writes / c.rate
		for second := range seconds {
			now = now.Add(time.Second)
			if len(c.grows) > 0 && second%2 == 1 {
				if _, err := changer.Pin(ctx, counters.Key("c0"), c.grows[0], shardmap.Note{By: "test"}, now); err != nil {
					t.Fatal(err)
				}
				c.grows = c.grows[1:]
			}
			for range c.rate {
				require.NoError(t, w.Add(ctx, "c"+strconv.FormatUint(draw(), 10), 1, now))
			}
			l.deliver(t, h, never)
		}
		cost := float64(l.units) / float64(seconds*c.rate)
		t.Logf("%s, %d writes/s: %d writes, %d write units of folds: %.4f a write", c.name, c.rate, seconds*c.rate, l.units, cost)
		if cost > c.atMost {
			t.Errorf("%s costs %.4f units a write, want at most %.2f", c.name, cost, c.atMost)
		}
		if folds := l.units > 0; folds != storm {
			t.Errorf("%s: folded %t, want %t", c.name, folds, storm)
		}
	}
}
