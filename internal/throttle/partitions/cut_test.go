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
	for i, want := range []float64{30 - 4, 30 - 4 - 2} {
		if got := s.State().Partitions[i].Reads.Tokens; got != want {
			t.Errorf("partition %d has %v tokens, want %v", i, got, want)
		}
	}
	if parts := s.State().Partitions; parts[0].Last != key.hash || parts[1].First != key.hash || parts[1].FromSort != "m" {
		t.Errorf("partitions %+v, want a cut at the sort key m", parts)
	}
}

// TestGrowth checks AWS's example of an on-demand table: it serves traffic up to twice the previous peak at once, and after
// 30 minutes at that peak, twice as much.
func TestGrowth(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	limits := limitsOf(4, 1000, &now)
	limits.GrowAfter = 30 * time.Minute
	g := New(limits)
	table, provisioned := g.NewSpace(Resource{Table: "t"}, Throughput{OnDemand: true}), g.NewSpace(Resource{Table: "p"}, Throughput{})
	offer := func(wcu int, lasting time.Duration) {
		for range int(lasting.Seconds()) {
			now = now.Add(time.Second)
			for _, s := range []*Space{table, provisioned} {
				if g.Admit([]Charge{s.Everywhere().Writes(Units(wcu) * Unit)}) != nil {
					t.Fatalf("throttled %d WCU/s", wcu)
				}
			}
		}
	}
	offer(4000, 29*time.Minute)
	if n := table.Partitions(); n != 4 {
		t.Errorf("%d partitions within 30 minutes, want 4", n)
	}
	offer(4000, 2*time.Minute)
	if n := table.Partitions(); n != 8 {
		t.Errorf("%d partitions after 30 minutes at 4,000 WCU/s, want 8", n)
	}
	offer(1000, time.Hour)
	if n, fixed := table.Partitions(), provisioned.Partitions(); n != 8 || fixed != 4 {
		t.Errorf("%d partitions after a quiet hour, want 8; %d of the provisioned table, want 4", n, fixed)
	}
}

// TestWarmThroughput checks that a pre-warmed table begins with the partitions for its throughput. One example is
// AWS's, of 30,000 RCU/s and 10,000 WCU/s.
func TestWarmThroughput(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	g := New(limitsOf(4, 1000, &now))
	for want, throughput := range map[int]Throughput{4: {WarmReads: 12_000, WarmWrites: 4000}, 10: {WarmReads: 30_000, WarmWrites: 10_000}, 5: {WarmReads: 12_001}} {
		if n := g.NewSpace(Resource{}, throughput).Partitions(); n != want {
			t.Errorf("%+v: %d partitions, want %d", throughput, n, want)
		}
	}
}

// TestSplitsBySize checks after how many writes the size must be read again. A table must have partitions for its size.
func TestSplitsBySize(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	limits := limitsOf(1, 1000, &now)
	limits.PartitionBytes = 100_000
	s := New(limits).NewSpace(Resource{}, Throughput{})
	for i, step := range []struct{ units, bytes, partitions int }{
		{98, 90_000, 1},   // 98 KB exceed 100,000 bytes
		{10, 250_000, 3},  // after 10,000 bytes
		{49, 299_999, 3},  // after 50,000
		{7, 300_001, 4},   // after a sixteenth of 100,000
		{98, 10_000, 4},   // after 99,999; partitions never merge
		{381, 390_000, 4}, // after 390,000
	} {
		for range step.units - 1 {
			s.gate.Settle(nil, []Charge{s.Place("a").Writes(Unit)})
			if s.Outgrown() {
				t.Fatalf("step %d: Outgrown too early", i)
			}
		}
		s.gate.Settle(nil, []Charge{s.Place("a").Writes(Unit)})
		if !s.Outgrown() || s.Outgrown() {
			t.Errorf("step %d: after %d units Outgrown is not true once", i, step.units)
		}
		s.SetSize(int64(step.bytes))
		if n := s.Partitions(); n != step.partitions || s.State().Bytes != int64(step.bytes) {
			t.Errorf("step %d: %d partitions for %d bytes, want %d", i, n, s.State().Bytes, step.partitions)
		}
	}
	if n := s.gate.NewSpace(Resource{}, Throughput{Bytes: 200_001}).Partitions(); n != 3 {
		t.Errorf("a table of 200,001 bytes begins with %d partitions, want 3", n)
	}
}
