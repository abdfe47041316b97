package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/test/lane"
)

// inserted returns the sort keys of n new items in the order of the stream. Each writer inserts one item after the other.
// A write takes about 10 ms, and one in 20 about 50 ms.
func inserted(dice *rand.Rand, writers, n int, sortKey func(at time.Duration) string) (keys [][]byte) {
	type write struct {
		done time.Duration
		key  string
	}
	var all []write
	for range writers {
		skew := time.Duration(dice.NormFloat64() * float64(2*time.Millisecond)) // of the writer's clock
		at := time.Duration(dice.Float64() * float64(10*time.Millisecond))
		for range n {
			took := time.Duration(dice.ExpFloat64()*8+2) * time.Millisecond
			if dice.IntN(20) == 0 {
				took *= 5
			}
			all = append(all, write{at + took, sortKey(at + skew + time.Second)})
			at += took
		}
	}
	slices.SortFunc(all, func(a, b write) int { return int(a.done - b.done) })
	for _, w := range all[:n] {
		keys = append(keys, []byte(w.key))
	}
	return keys
}

// tally counts new items as the sampler does.
func tally(keys [][]byte) Tally {
	var o Order
	for _, key := range keys {
		o.Add(key)
	}
	return Tally{Writes: len(keys), Fresh: len(keys), Tau: o.Tau()}
}

// TestRisingSortKeys bounds how often rising sort keys are recognized, and how often others are taken for rising.
func TestRisingSortKeys(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	stamp := func(at time.Duration) string { return fmt.Sprintf("%013d", at.Milliseconds()) }
	stampAndRandom := func(at time.Duration) string { return stamp(at) + fmt.Sprintf("#%08x", dice.Uint32()) }
	random := func(time.Duration) string { return fmt.Sprintf("%016x", dice.Uint64()) }
	typed := func(at time.Duration) string { return fmt.Sprintf("type-%d#%s", dice.IntN(4), stamp(at)) }
	rounds := lane.Runs(60, 1000)
	for _, c := range []struct {
		name        string
		sortKey     func(time.Duration) string
		least, most float64
	}{
		{"timestamps", stamp, 0.95, 1}, {"timestamps with a random end", stampAndRandom, 0.95, 1},
		{"random keys", random, 0, 0.001}, {"timestamps behind one of 4 types", typed, 0, 0.02},
	} {
		for _, writers := range []int{1, 2, 10} {
			for _, n := range []int{enoughFresh, 80, 700} {
				rises := 0
				for range rounds {
					if tally(inserted(dice, writers, n, c.sortKey)).rises() {
						rises++
					}
				}
				share := float64(rises) / float64(rounds)
				t.Logf("%-34s %2d writers, %3d items: %5.1f%% are taken for rising", c.name, writers, n, 100*share)
				if n == enoughFresh && writers == 10 && c.least > 0 {
					continue // a third of 30 items of 10 writers are in flight at once
				}
				// Of 10 writers' 80 items, 98.2 % were found in 4,000 rounds; of fewer writers' or more
				// items, all. Six standard deviations keep the draw of the seed out of the outcome.
				least := c.least - 6*math.Sqrt(c.least*(1-c.least)/float64(rounds))
				if share < least || share > c.most {
					t.Errorf("%s, %d writers, %d items: %.3f are taken for rising, want %.3f to %v", c.name, writers, n, share, least, c.most)
				}
			}
		}
	}
}

// TestFalseAlarms checks series of random sort keys, of the least number of items that is judged. At most 1 in 10,000
// may be taken for rising.
func TestFalseAlarms(t *testing.T) {
	seed := rand.Uint64()
	dice := rand.New(rand.NewPCG(seed, 0))
	const rounds = 50_000
	rises := 0
	var key [8]byte
	for range rounds {
		var o Order
		for range enoughFresh {
			for i := range key {
				key[i] = byte(dice.Uint32())
			}
			o.Add(key[:])
		}
		if (Tally{Writes: enoughFresh, Fresh: enoughFresh, Tau: o.Tau()}).rises() {
			rises++
		}
	}
	if rises > rounds/10_000 {
		t.Errorf("seed %d: %d of %d random series are taken for rising, want at most %d", seed, rises, rounds, rounds/10_000)
	}
}

// TestOrderOfAnyKeys checks that rising keys have a tau of 1 and falling ones of -1, whatever their number. The kept
// items must be bounded and evenly spaced.
func TestOrderOfAnyKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 3000).Draw(t, "n")
		var rising, falling, mixed Order
		var seen []int
		for i := range n {
			rising.Add(fmt.Appendf(nil, "%06d", i))
			falling.Add(fmt.Appendf(nil, "%06d", n-i))
			mixed.Add(rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "key"))
		}
		for _, key := range rising.kept {
			var at int
			fmt.Sscanf(string(key), "%d", &at)
			seen = append(seen, at)
		}
		if rising.Tau() != 1 || falling.Tau() != -1 || math.Abs(mixed.Tau()) > 1 || len(seen) > maxOrder || len(seen) < min(n, maxOrder/2) {
			t.Fatalf("%d items: tau %v of rising, %v of falling, %v of mixed keys; %d kept", n, rising.Tau(), falling.Tau(), mixed.Tau(), len(seen))
		}
		for i, at := range seen {
			if at != i*(rising.every+1) {
				t.Fatalf("of %d items these are kept: %v, want one in %d", n, seen, rising.every+1)
			}
		}
	})
}
