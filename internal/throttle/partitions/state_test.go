package partitions

import (
	"testing"
	"time"
)

// TestDryByIndexLimit checks that an index which used up its capacity is dry, although its partitions are not.
func TestDryByIndexLimit(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	g := New(limitsOf(2, 100, &now))
	s := g.NewSpace(Resource{Index: "x"}, Throughput{Writes: Limit{Cause: Provisioned, PerSecond: 2}})
	write := []Charge{s.Place("a").Writes(4 * Unit)}
	if denied := g.Admit(write); denied != nil || !g.Dry([]*Space{s}) {
		t.Fatalf("first write: denied %v, dry %t; want it admitted, and the index dry", denied, g.Dry([]*Space{s}))
	}
	if denied := g.Admit(write); len(denied) != 1 || denied[0].Cause != Provisioned {
		t.Errorf("second write: denied %+v, want one for the provisioned capacity", denied)
	}
	now = now.Add(time.Second + 1)
	if g.Dry([]*Space{s}) || g.Admit(write) != nil {
		t.Error("the index is dry, or a write is denied, after the refill")
	}
}
