package plan_test

import (
	"testing"

	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// TestReserveLeavesUnreserved checks every quota from 10 to 100,000, with few and many stream shards: Lambda's 100 stay
// unreserved, a small quota has no reservation, and otherwise each function has one.
func TestReserveLeavesUnreserved(t *testing.T) {
	for _, streamShards := range []int{1, 4, 156, 1_000_000} {
		for quota := 10; quota <= 100_000; quota++ {
			got := plan.Reserve(quota, streamShards)
			if quota < 300 {
				if got != (plan.Reservations{}) {
					t.Fatalf("a quota of %d: %+v, want none", quota, got)
				}
				continue
			}
			if quota-got.Total() < 100 || min(got.Stream, got.Ingest, got.Query) < 10 {
				t.Fatalf("a quota of %d with %d stream shards: %+v; want 10 or more each, and 100 left", quota, streamShards, got)
			}
			if before := plan.Reserve(quota-1, streamShards); got.Stream < before.Stream {
				t.Fatalf("a quota of %d reserves %+v, a lower one %+v", quota, got, before)
			}
		}
	}
}

func TestReserve(t *testing.T) {
	for _, c := range []struct {
		quota, streamShards int
		want                plan.Reservations
	}{
		{10, 4, plan.Reservations{}},
		{299, 4, plan.Reservations{}},
		{300, 4, plan.Reservations{Ingest: 74, Query: 36, Stream: 30}},
		{1000, 4, plan.Reservations{Ingest: 400, Query: 200, Stream: 100}},
		{1000, 156, plan.Reservations{Ingest: 272, Query: 136, Stream: 196}},
		{1000, 1000, plan.Reservations{Ingest: 107, Query: 53, Stream: 320}}, // too few, which an alarm reports
	} {
		if got := plan.Reserve(c.quota, c.streamShards); got != c.want {
			t.Errorf("a quota of %d with %d stream shards: %+v, want %+v", c.quota, c.streamShards, got, c.want)
		}
	}
}

// TestQuotaSuffices checks that one invocation for each stream shard takes less than 80 % of the reservation.
func TestQuotaSuffices(t *testing.T) {
	for _, streamShards := range []int{1, 4, 79, 156, 7776, 100_000} {
		quota := plan.Quota(streamShards)
		if got := plan.Reserve(quota, streamShards).Stream; float64(streamShards) >= plan.FullShare*float64(got) || quota < 1000 {
			t.Errorf("%d stream shards: %d of a quota of %d", streamShards, got, quota)
		}
	}
}
