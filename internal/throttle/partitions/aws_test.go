package partitions

import (
	"fmt"
	"testing"
	"time"
)

// Examples of https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/burst-adaptive-capacity.html

// TestAdaptiveCapacity checks a table of 400 WCU/s on four partitions: three use 50 WCU/s, and the fourth 150, which is
// more than its even share of 100. Nothing is throttled.
func TestAdaptiveCapacity(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	g := New(limitsOf(4, 1000, &now))
	s := g.NewSpace(Resource{Table: "t"}, Throughput{Writes: Limit{Provisioned, 400, 300 * time.Second}})
	keys := [4]string{}
	for i := 0; keys[0] == "" || keys[1] == "" || keys[2] == "" || keys[3] == ""; i++ {
		key := fmt.Sprint("k", i)
		keys[g.Partition(key)] = key
	}
	offer := func(units ...Units) (denied []Denial) {
		for i, u := range units {
			denied = append(denied, g.Admit([]Charge{s.Place(keys[i]).Writes(u * Unit)})...)
		}
		return denied
	}
	for second := range 60 {
		now = now.Add(time.Second)
		if denied := offer(50, 50, 50, 150); denied != nil {
			t.Fatalf("second %d: denied %+v, want nothing", second, denied)
		}
	}
	now = now.Add(time.Hour)
	offer(0, 0, 0, 1001)
	if denied := offer(0, 0, 0, 1); len(denied) != 1 || denied[0].Cause != KeyRange {
		t.Errorf("a partition over 1,000 WCU/s: denied %+v, want one for the key range", denied)
	}
}

// TestBurstCapacity checks that unused throughput is saved for 300 s: a table of 10 WCU/s can then use 3,000 units at once.
func TestBurstCapacity(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	g := New(limitsOf(4, 1000, &now))
	s := g.NewSpace(Resource{Table: "t"}, Throughput{Writes: Limit{Provisioned, 10, 300 * time.Second}})
	for _, step := range []struct {
		wait time.Duration
		want int
	}{{0, 10}, {100 * time.Second, 1000}, {time.Hour, 3000}, {time.Second, 10}} {
		now = now.Add(step.wait)
		units := 0
		for ; units < 5000 && g.Admit([]Charge{s.Place(fmt.Sprint("k", units)).Writes(Unit)}) == nil; units++ {
		}
		if units != step.want {
			t.Errorf("%d units after %v, want %d", units, step.wait, step.want)
		}
	}
}
