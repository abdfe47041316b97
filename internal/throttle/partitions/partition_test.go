package partitions

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// limitsOf returns limits in AWS's proportions, by the clock now.
func limitsOf(partitions, wcu int, now *time.Time) Limits {
	return Limits{
		Partitions: partitions, PartitionWCU: wcu, PartitionRCU: 3 * wcu,
		Now: func() time.Time { return *now },
	}
}

// TestFirstPartitions checks that the initial ranges are equal and agree with Partition.
func TestFirstPartitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(1_800_000_000, 0)
		limits := limitsOf(rapid.IntRange(1, MaxPartitions).Draw(t, "partitions"), 1, &now)
		limits.Seed = rapid.Uint64().Draw(t, "seed")
		g := New(limits)
		s := g.NewSpace(Resource{}, Throughput{})
		if n := len(s.partitions); n != limits.Partitions || s.partitions[0].low != (point{}) {
			t.Fatalf("%d partitions, the first from %v", n, s.partitions[0].low)
		}
		for _, key := range rapid.SliceOfN(rapid.String(), 1, 20).Draw(t, "keys") {
			if got, want := s.index(point{hash: g.hash(key)}), g.Partition(key); got != want {
				t.Fatalf("%q is on %d, want %d", key, got, want)
			}
		}
		for _, p := range s.partitions[1:] {
			if i := s.index(p.low); s.index(point{p.low.hash - 1, "\xff"}) != i-1 {
				t.Fatalf("no range ends before %v", p.low)
			}
		}
	})
}

// TestSplitsEnd checks that a partition of one hash is not split, and that there are at most MaxPartitions.
func TestSplitsEnd(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	g := New(limitsOf(1, 1, &now))
	s := g.NewSpace(Resource{}, Throughput{})
	for range 100 {
		s.halve(0, g.now())
	}
	if len(s.partitions) != 65 {
		t.Errorf("%d partitions, want 65: 64 halvings leave one hash", len(s.partitions))
	}
	for i := 0; len(s.partitions) < MaxPartitions && i < 2*MaxPartitions; i++ {
		s.halve(s.index(point{hash: g.hash(time.Duration(i).String())}), g.now())
	}
	s.halve(s.index(point{hash: math.MaxUint64 / 3}), g.now())
	if len(s.partitions) != MaxPartitions {
		t.Errorf("%d partitions, want %d", len(s.partitions), MaxPartitions)
	}
}
