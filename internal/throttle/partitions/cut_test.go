package partitions

import (
	"fmt"
	"testing"
	"time"
)

// heat returns a table of one partition after a minute of writes at four times its limit.
func heat(t *testing.T, next func(s *Space, i int) Place) *Space {
	t.Helper()
	now := time.Unix(1_800_000_000, 0)
	limits := limitsOf(1, 10, &now)
	limits.SplitAfter = 10 * time.Second
	s := New(limits).NewSpace(Resource{Table: "t"}, Throughput{})
	for i := range 40 * 60 {
		now = now.Add(25 * time.Millisecond)
		s.gate.Admit([]Charge{next(s, i).Writes(Unit)})
	}
	return s
}

// TestSplitsByLoad checks that a table of many keys splits for heat, and that a table of one hot key does not, even
// beside scans.
func TestSplitsByLoad(t *testing.T) {
	if n := heat(t, func(s *Space, i int) Place { return s.Place(fmt.Sprint("k", i%100)) }).Partitions(); n < 4 || n > 6 {
		t.Errorf("many keys: %d partitions, want 4 to 6", n)
	}
	if n := heat(t, func(s *Space, i int) Place { return []Place{s.Place("hot"), s.Everywhere()}[i%2] }).Partitions(); n != 1 {
		t.Errorf("one key: %d partitions, want 1", n)
	}
}

// TestIsolatedItem checks that an item with most of the traffic gets a partition of its own, with its whole throughput.
func TestIsolatedItem(t *testing.T) {
	s := heat(t, func(s *Space, i int) Place {
		if i%10 == 0 {
			return s.Place(fmt.Sprint("quiet", i%7))
		}
		return s.Place("hot")
	})
	hot := s.Place("hot")
	number := func(p Place) int { return s.partitionIndex(p.hash) }
	if of := s.State().Partitions[number(hot)]; of.First != hot.hash {
		t.Errorf("the hot item is at %x in %+v, want a partition that begins there", hot.hash, of)
	}
	for i := range 7 {
		if quiet := s.Place(fmt.Sprint("quiet", i)); number(quiet) == number(hot) && quiet.hash < hot.hash {
			t.Errorf("quiet%d is on the hot item's partition", i)
		}
	}
}

// TestProvisionedPartitions checks that a provisioned table begins with the partitions for its throughput. One example
// is AWS's, of 30,000 RCU/s and 10,000 WCU/s.
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
