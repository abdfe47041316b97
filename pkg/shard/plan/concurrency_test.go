package plan_test

import (
	"testing"

	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// TestReserveLeavesUnreserved checks every quota from 10 to 100,000: Lambda's 100 stay unreserved, a small quota has no
// reservation, otherwise each function has one, and no reservation falls if the quota rises.
func TestReserveLeavesUnreserved(t *testing.T) {
	for quota := 10; quota <= 100_000; quota++ {
		got, before := plan.Reserve(quota), plan.Reserve(quota-1)
		if quota < 300 {
			if got != (plan.Reservations{}) {
				t.Fatalf("a quota of %d: %+v, want none", quota, got)
			}
			continue
		}
		if quota-(got.Ingest+got.Query+2*got.Stream) < 100 || min(got.Stream, got.Ingest, got.Query) < 10 {
			t.Fatalf("a quota of %d: %+v; want 10 or more each, and 100 left", quota, got)
		}
		if got.Ingest < before.Ingest || got.Query < before.Query || got.Stream < before.Stream {
			t.Fatalf("a quota of %d reserves %+v, a lower one %+v", quota, got, before)
		}
	}
}

func TestReserve(t *testing.T) {
	for _, c := range []struct {
		quota int
		want  plan.Reservations
	}{
		{10, plan.Reservations{}},
		{100, plan.Reservations{}},
		{299, plan.Reservations{}},
		{300, plan.Reservations{Ingest: 68, Query: 34, Stream: 34}},
		{1000, plan.Reservations{Ingest: 320, Query: 160, Stream: 160}},
	} {
		if got := plan.Reserve(c.quota); got != c.want {
			t.Errorf("a quota of %d: %+v, want %+v", c.quota, got, c.want)
		}
	}
}
