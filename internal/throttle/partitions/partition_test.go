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
		if n := len(s.partitions); n != limits.Partitions || s.partitions[0].low != 0 {
			t.Fatalf("%d partitions, the first from %v", n, s.partitions[0].low)
		}
		for _, key := range rapid.SliceOfN(rapid.String(), 1, 20).Draw(t, "keys") {
			if got, want := s.partitionIndex(g.hash(key)), g.Partition(key); got != want {
				t.Fatalf("%q is on %d, want %d", key, got, want)
			}
		}
		for _, p := range s.partitions[1:] {
			if i := s.partitionIndex(p.low); s.partitionIndex(p.low-1) != i-1 {
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
		s.halve(s.partitionIndex(g.hash(time.Duration(i).String())), g.now())
	}
	s.halve(s.partitionIndex(math.MaxUint64/3), g.now())
	if len(s.partitions) != MaxPartitions {
		t.Errorf("%d partitions, want %d", len(s.partitions), MaxPartitions)
	}
}

// TestTimeAtLimit checks after which throttles a partition must split: 10 s after the first, unless it was calm since.
func TestTimeAtLimit(t *testing.T) {
	for _, c := range []struct {
		throttles []int64 // seconds
		want      bool    // at the last one
	}{
		{[]int64{1}, false}, {[]int64{1, 6, 10}, false}, {[]int64{1, 6, 11}, true}, {[]int64{1, 5, 7, 12}, true},
		{[]int64{1, 7, 12}, false}, {[]int64{1, 7, 12, 16, 17}, true}, {[]int64{1, 99}, false},
	} {
		var n lane
		got := n.observe(0, false, 0, 10*time.Second) // admitted
		for _, second := range c.throttles {
			got = n.observe(0, true, second*int64(time.Second), 10*time.Second)
		}
		last := c.throttles[len(c.throttles)-1] * int64(time.Second)
		if got != c.want || n.observe(0, false, last, 10*time.Second) || n.observe(0, true, last, 0) {
			t.Errorf("throttled at %v s: %t, want %t", c.throttles, got, c.want)
		}
	}
}

// TestSplitPoints checks where samples of requests divide, and that a sample has the latest 128 requests.
func TestSplitPoints(t *testing.T) {
	at := func(hashes ...uint64) (s sample) {
		for _, h := range hashes {
			s.add(h)
		}
		return s
	}
	for _, c := range []struct {
		of   sample
		want uint64 // 0 for none
	}{
		{at(7), 0}, {at(7, 7, 7), 0}, {at(3, 5), 5}, {at(5, 3, 9, 7), 7}, {at(1, 2, 2, 2, 2), 2}, {at(1, 1, 1, 1, 2), 2}, {at(1, 1, 2, 3, 3, 3, 3, 3), 3}, {at(1, 2, 3, 4, 5, 6), 4},
	} {
		if got, ok := c.of.splitPoint(); ok && got != c.want || ok != (c.want > 0) {
			t.Errorf("%v: %v, %t; want %d", c.of, got, ok, c.want)
		}
	}
	var many sample
	for i := range uint64(200) {
		many.add(i)
	}
	if len(many) != sampleSize || many[0] != 200-sampleSize {
		t.Errorf("%d requests from %d on", len(many), many[0])
	}
}

// TestSplitOnRequest checks that all partitions split on request, and that halves share what was left after settled charges.
func TestSplitOnRequest(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	s := New(limitsOf(2, 10, &now)).NewSpace(Resource{Table: "t"}, Throughput{})
	reserved := []Charge{s.Everywhere().Writes(8 * Unit)}
	s.gate.Settle(nil, reserved)
	s.gate.Settle(reserved, []Charge{s.Everywhere().Writes(4 * Unit)})
	if s.Split(); s.Partitions() != 4 {
		t.Errorf("%d partitions, want 4", s.Partitions())
	}
	for i, p := range s.State().Partitions {
		if p.Writes.Tokens != 4 || p.Reads.Tokens != 15 {
			t.Errorf("partition %d has %v and %v tokens, want 4 and 15", i, p.Writes.Tokens, p.Reads.Tokens)
		}
	}
}

// TestUnitsAreRounded checks that thousandths of a unit are exact, and when a bucket gets positive.
func TestUnitsAreRounded(t *testing.T) {
	for n := range 1000 {
		if got := ToUnits(float64(n) / 1000); got != Units(n)*Unit/1000 {
			t.Errorf("%d thousandths: %d", n, got)
		}
	}
	for tokens, want := range map[Units]int64{1: 5, 0: 6, -1: 6, -10: 7} {
		if got := (&bucket{tokens, 5}).positiveAt(newRate(10, time.Second)); got != want {
			t.Errorf("a bucket of %d is positive at %d, want %d", tokens, got, want)
		}
	}
}
