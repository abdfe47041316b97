package hotkeys_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/test/require"
)

// haystack is the traffic of some windows: keys at 1.05 times the threshold of 70 WCU/s, decoys at 0.95, and
// Zipf-distributed writes to 100,000 other keys. Every other hot key and decoy is split over two of several stream
// shards.
type haystack struct {
	rng     *rand.Rand
	windows []map[string]writes // by stream shard
	hot     map[string]bool
	whole   []string       // hot keys whose records are all on one stream shard
	exact   map[string]int // write units of a key in its heaviest window
}

const (
	streamShards = 4
	haystackKeys = 100_000
	background   = 20_000 // writes a window
	hotUnits     = 735    // a window, in which 700 are the threshold
	decoyUnits   = 665
)

func newHaystack(seed uint64, windows int) *haystack {
	h := &haystack{rng: rand.New(rand.NewPCG(seed, 1)), hot: map[string]bool{}, exact: map[string]int{}}
	zipf := rand.NewZipf(h.rng, 1.05, 50, haystackKeys-1)
	for w := range windows {
		shards := make(map[string]writes)
		for i := range 6 {
			hot := fmt.Sprintf("C#hot-%d-%d#0", w, i)
			h.hot[hot] = true
			if !h.spread(shards, hot, hotUnits, i%2 == 0) {
				h.whole = append(h.whole, hot)
			}
			h.spread(shards, fmt.Sprintf("C#decoy-%d-%d#0", w, i), decoyUnits, i%2 == 0)
		}
		for range background {
			n := zipf.Uint64()
			shards[streamShard(n)] = append(shards[streamShard(n)], write{key: fmt.Sprintf("C#zipf-%d#0", n)})
		}
		h.finish(shards)
	}
	return h
}

func streamShard(n uint64) string { return fmt.Sprint(n % streamShards) }

// spread writes units to a key, on two stream shards if it is split.
func (h *haystack) spread(shards map[string]writes, key string, units int, split bool) bool {
	first := 0
	if split {
		first = h.rng.IntN(units)
	}
	one := h.rng.Uint64()
	shards[streamShard(one)] = append(shards[streamShard(one)], repeat(key, units-first, 0)...)
	shards[streamShard(one+1)] = append(shards[streamShard(one+1)], repeat(key, first, 0)...)
	return split
}

// finish shuffles a window's writes and spreads them over its ten seconds.
func (h *haystack) finish(shards map[string]writes) {
	sums := make(map[string]int)
	for _, name := range slices.Sorted(maps.Keys(shards)) {
		all := shards[name]
		h.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for i := range all {
			all[i].at = float64(10*len(h.windows)) + math.Floor(float64(i)*10/float64(len(all)))
			sums[all[i].key]++
		}
	}
	for key, n := range sums {
		h.exact[key] = max(h.exact[key], n)
	}
	h.windows = append(h.windows, shards)
}

// deliver sends all windows to a detector, in batches of random sizes.
func (h *haystack) deliver(t *testing.T, f *fixture) {
	t.Helper()
	for n, shards := range h.windows {
		for _, name := range slices.Sorted(maps.Keys(shards)) {
			b := batch{later: time.Duration(n) * 10 * time.Second, shard: name, first: 1}
			for all := shards[name]; len(all) > 0; all = all[len(b.writes):] {
				b.first += len(b.writes)
				b.writes = all[:min(len(all), 1+h.rng.IntN(2000))]
				b.state = f.must(t, b.payload())
			}
			b.writes, b.final = nil, true
			f.must(t, b.payload())
		}
	}
}

// TestDetection checks that exactly the keys over the threshold are hot, that no other key has metrics, and that no
// row's rate exceeds the true one.
func TestDetection(t *testing.T) {
	seed := require.Seed(t)
	for _, seed := range []uint64{seed, 1, 2}[:require.UnlessQuick(3, 1)] {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			h := newHaystack(seed, 2)
			f := newFixture(settings())
			h.deliver(t, f)
			h.check(t, f)
		})
	}
}

func (h *haystack) check(t *testing.T, f *fixture) {
	t.Helper()
	got, uncertain := make(map[string]bool), 0
	for _, row := range f.rows(t) {
		if row.Status == heat.Hot {
			got[row.Key] = true
		}
		if row.Error > 0 {
			uncertain++
		}
		if n := float64(h.exact[row.Key]) / 10; n < row.WriteUnitsPerSecond {
			t.Errorf("the row of %s has %v WCU/s, want at most %v", row.Key, row.WriteUnitsPerSecond, n)
		}
	}
	if diff := cmp.Diff(h.hot, got); diff != "" || len(h.hot) != 12 {
		t.Errorf("hot keys (-want +got):\n%s", diff)
	}
	if uncertain == 0 {
		t.Error("no row has an error, so no key was evicted: the test is too easy")
	}
	named := make(map[string]bool)
	for name := range f.values("KeyWriteUnitsPerSecond") {
		key := strings.TrimPrefix(name, "hotshard-items ") + "#0"
		if named[key] = true; !h.hot[key] {
			t.Errorf("%s has metrics and is not hot", key)
		}
	}
	for _, key := range h.whole {
		if !named[key] {
			t.Errorf("%s has no metrics and is hot on one stream shard", key)
		}
	}
}
