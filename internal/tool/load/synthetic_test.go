package load_test

import (
	"slices"
	"testing"

	"github.com/hotshard/hotshard/internal/tool/load"
)

func synthetic(t *testing.T, kind load.Workload, seed uint64) []load.Request {
	t.Helper()
	return collect(t, load.Synthetic{Workload: kind, Seed: seed, Count: 10_000, Keys: 100}.Source().Requests())
}

// TestSyntheticFollowsItsSeed checks that a seed always gives the same requests, with different IDs.
func TestSyntheticFollowsItsSeed(t *testing.T) {
	for _, kind := range load.Workloads {
		t.Run(string(kind), func(t *testing.T) {
			first := synthetic(t, kind, 1)
			if !slices.Equal(first, synthetic(t, kind, 1)) {
				t.Error("the same seed gives other requests")
			}
			if slices.Equal(first, synthetic(t, kind, 2)) {
				t.Error("another seed gives the same requests")
			}
			ids := map[string]bool{}
			for _, r := range first {
				ids[r.ID] = true
			}
			if len(ids) != 10_000 {
				t.Errorf("%d IDs, want 10,000", len(ids))
			}
		})
	}
}

// TestSyntheticShapes checks how many requests the hottest key of each kind of workload has.
func TestSyntheticShapes(t *testing.T) {
	count := func(list []load.Request, name func(load.Request) string) (hottest, distinct int) {
		counts := map[string]int{}
		for _, r := range list {
			counts[name(r)]++
			hottest = max(hottest, counts[name(r)])
		}
		return hottest, len(counts)
	}
	between := func(what string, got, low, high int) {
		t.Helper()
		if got < low || got > high {
			t.Errorf("%s = %d, want %d to %d", what, got, low, high)
		}
	}
	counters, entities := load.Request.Counter, load.Request.Entity

	viral := synthetic(t, load.Viral, 7)
	_, distinct := count(viral, counters)
	between("viral counters", distinct, 1, 1)
	hottest, _ := count(viral, entities)
	between("viral's hottest entity", hottest, 100, 180)

	hottest, distinct = count(synthetic(t, load.Uniform, 7), counters)
	between("uniform's hottest", hottest, 100, 180)
	between("uniform counters", distinct, 100, 100)

	// The sum of 1/k^1.1 for k from 1 to 100 is 4.278, so the first key has 23.4 %.
	hottest, _ = count(synthetic(t, load.Zipf, 7), counters)
	between("zipf's hottest", hottest, 2_200, 2_480)

	crowd := synthetic(t, load.FlashCrowd, 7)
	hottest, _ = count(crowd[:5_000], counters)
	between("hottest before the crowd", hottest, 50, 100)
	hottest, _ = count(crowd[5_000:], counters)
	between("hottest in the crowd", hottest, 4_400, 4_620)
}
