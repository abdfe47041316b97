package partitions

import (
	"testing"
	"time"
)

// TestRate checks the average of the last 10 s, and that a credit never makes it negative.
func TestRate(t *testing.T) {
	var m meter
	second := int64(time.Second)
	m.add(50*Unit, 3*second)
	for at, want := range map[int64]float64{3 * second: 5, 9 * second: 5, 15 * second: 2.5, 20 * second: 0, 99 * second: 0} {
		if one := m; one.perSecond(at) != want {
			t.Errorf("at %v: %v units a second, want %v", time.Duration(at), one.perSecond(at), want)
		}
	}
	m.add(-60*Unit, 16*second)
	if got := m.perSecond(16 * second); got != 0 {
		t.Errorf("%v units a second after a credit, want 0", got)
	}
}

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
