package throttle

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/aws/partitions"
	"github.com/hotshard/hotshard/internal/test/require"
)

// TestPartitions checks the partition numbers, which must stay the same: other ones would change the results of experiments.
func TestPartitions(t *testing.T) {
	place := func(count int, seed uint64) func(string) int {
		l, err := New(Options{Partitions: count, PartitionWCU: 1, Seed: seed})
		require.NoError(t, err)
		return l.Partition
	}
	for key, want := range map[string]int{"": 43, "C#views#0": 21, "C#views#1": 41, "é": 36} {
		if got := place(64, 0)(key); got != want {
			t.Errorf("%q is on partition %d, want %d", key, got, want)
		}
	}
	moved := 0
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		if place(64, 0)(key) != place(64, 1)(key) {
			moved++
		}
	}
	if moved < 4 {
		t.Errorf("another seed moved %d of 8 keys", moved)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, partitions.MaxPartitions).Draw(t, "partitions")
		if p := place(n, rapid.Uint64().Draw(t, "seed"))(rapid.String().Draw(t, "key")); p < 0 || p >= n {
			t.Fatalf("partition %d of %d", p, n)
		}
	})
}
