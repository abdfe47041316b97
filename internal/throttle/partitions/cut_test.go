package partitions

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// heat returns a table of one partition after a minute of writes at four times its limit.
func heat(t *testing.T, throughput Throughput, next func(i int) (key, sort string)) *Space {
	t.Helper()
	now := time.Unix(1_800_000_000, 0)
	limits := limitsOf(1, 10, &now)
	limits.SplitAfter = 10 * time.Second
	s := New(limits).NewSpace(Resource{Table: "t"}, throughput)
	for i := range 40 * 60 {
		now = now.Add(25 * time.Millisecond)
		s.gate.Admit([]Charge{s.Item(next(i)).Writes(Unit)})
	}
	return s
}

// TestSplitsByLoad checks which tables split for heat, and how far, by the rules of AWS's page "Burst and adaptive capacity".
// A hot item is isolated. A key's items are divided, but not under a rising sort key, and not with a local index.
func TestSplitsByLoad(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, seed))
	anySort := func(int) (string, string) { return "hot", fmt.Sprint(random.IntN(1e6)) }
	tests := []struct {
		name       string
		throughput Throughput
		next       func(int) (string, string)
		low, high  int // partitions after a minute
	}{
		{"many keys", Throughput{}, func(i int) (string, string) { return fmt.Sprint("k", i%100), "" }, 4, 6},
		{"a single item", Throughput{}, func(int) (string, string) { return "hot", "1" }, 1, 1},
		{"one key with many items", Throughput{}, anySort, 4, 6},
		{"one key with many items and a local index", Throughput{Together: true}, anySort, 1, 1},
		{"a rising sort key", Throughput{}, func(i int) (string, string) { return "hot", fmt.Sprintf("%08d", i) }, 1, 1},
		{"a falling sort key", Throughput{}, func(i int) (string, string) { return "hot", fmt.Sprintf("%08d", 1e6-i) }, 1, 1},
		{"a rising sort key in many keys", Throughput{}, func(i int) (string, string) { return fmt.Sprint("k", i%100), fmt.Sprintf("%08d", i) }, 4, 6},
	}
	for _, test := range tests {
		s := heat(t, test.throughput, test.next)
		if n := s.Partitions(); n < test.low || n > test.high {
			t.Errorf("%s: %d partitions, want %d to %d (seed %d): %+v", test.name, n, test.low, test.high, seed, s.State().Partitions)
		}
	}
}

// TestIsolatedItem checks that an item with most of the traffic gets a partition of its own, with its whole throughput.
func TestIsolatedItem(t *testing.T) {
	s := heat(t, Throughput{}, func(i int) (string, string) {
		if i%10 == 0 {
			return fmt.Sprint("quiet", i%7), ""
		}
		return "hot", ""
	})
	hot := s.Place("hot")
	if of := s.State().Partitions[hot.Number()]; of.First != hot.hash {
		t.Errorf("the hot item is at %x in %+v, want a partition that begins there", hot.hash, of)
	}
	for i := range 7 {
		if quiet := s.Place(fmt.Sprint("quiet", i)); quiet.Number() == hot.Number() && quiet.hash < hot.hash {
			t.Errorf("quiet%d is on the hot item's partition", i)
		}
	}
}

// TestDividedCollection checks that a query of a divided item collection is charged to all its partitions.
func TestDividedCollection(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	s := New(limitsOf(1, 10, &now)).NewSpace(Resource{Table: "t"}, Throughput{})
	key := s.Place("k")
	s.split(0, point{key.hash, "m"}, s.gate.now())
	now = now.Add(time.Minute)
	s.gate.Admit([]Charge{s.Place("k").Reads(8 * Unit)})
	s.gate.Admit([]Charge{s.Item("k", "z").Reads(2 * Unit)})
	s.gate.Admit([]Charge{s.Item("k", "a").Reads(Unit)})
	for i, want := range []float64{30 - 4 - 1, 30 - 4 - 2} {
		if got := s.State().Partitions[i].Reads.Tokens; got != want {
			t.Errorf("partition %d has %v tokens, want %v", i, got, want)
		}
	}
	if parts := s.State().Partitions; parts[0].Last != key.hash || parts[1].First != key.hash || parts[1].FromSort != "m" {
		t.Errorf("partitions %+v, want a cut at the sort key m", parts)
	}
}

// TestProvisionedPartitions checks that a provisioned table begins with the partitions for its throughput. One example is
// AWS's, of 30,000 RCU/s and 10,000 WCU/s.
func TestProvisionedPartitions(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	g := New(limitsOf(4, 1000, &now))
	for _, c := range []struct {
		cause         Cause
		reads, writes int
		want          int
	}{{Provisioned, 12_000, 4000, 4}, {Provisioned, 30_000, 10_000, 10}, {Provisioned, 12_001, 1, 5}, {Provisioned, 1, 4001, 5}, {MaxOnDemand, 30_000, 10_000, 4}} {
		throughput := Throughput{Reads: Limit{Cause: c.cause, PerSecond: c.reads}, Writes: Limit{Cause: c.cause, PerSecond: c.writes}}
		if n := g.NewSpace(Resource{}, throughput).Partitions(); n != c.want {
			t.Errorf("%+v: %d partitions, want %d", throughput, n, c.want)
		}
	}
}
