//go:build long

package foldcost

import (
	"testing"

	"github.com/hotshard/hotshard/internal/local/enginetest"
)

// costs measures all ways at a small load. Batches are of 20 records.
func costs(t *testing.T, l load) (naive, marker, hotshard cost) {
	t.Helper()
	var all []cost
	for _, y := range []way{ways[0], ways[1], {"hotshard", 20, newOurs}} {
		if y.batch == 0 {
			y.batch = 20
		}
		c, err := measure(t.Context(), enginetest.Endpoint(t), l.with(y), y)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all[0], all[1], all[2]
}

func TestCosts(t *testing.T) {
	for _, l := range []load{
		{targets: 50, sources: 1, records: 200},
		{targets: 5, sources: 70, records: 200},
		{events: true, targets: 50, sources: 1, records: 200},
	} {
		naive, marker, hotshard := costs(t, l)
		if naive.units != 200 || marker.units != 800 || naive.off != 0 || marker.off != 0 || naive.failed+marker.failed != 0 {
			t.Errorf("%s: an update each costs %+v, a transaction each %+v", l, naive, marker)
		}
		if hotshard.off != 0 || hotshard.failed != 0 || hotshard.calls != hotshard.distinct || hotshard.units >= naive.units {
			t.Errorf("%s: hotshard costs %+v", l, hotshard)
		}
	}
}

// TestCostsWithFaults has 2 of 40 batches twice, and 2 again.
func TestCostsWithFaults(t *testing.T) {
	l := load{targets: 50, sources: 1, records: 800, faults: true}
	naive, marker, hotshard := costs(t, l)
	if naive.off != 80 || naive.units != 880 || naive.failed != 0 {
		t.Errorf("an update each costs %+v", naive)
	}
	if marker.off != 0 || marker.failed != 80 || marker.units != 4*800+160 {
		t.Errorf("a transaction each costs %+v", marker)
	}
	if hotshard.off != 0 || hotshard.failed == 0 || hotshard.updates() > 1.1 {
		t.Errorf("hotshard costs %+v", hotshard)
	}
}
