package limits

import (
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
)

// TestTransfersAreNoEvidence checks which writes of a limit transfer quota. More write shards would
// cause more of those.
func TestTransfersAreNoEvidence(t *testing.T) {
	l := New(nil, "t", libtest.EmptyMap(), Options{})
	h, err := l.hit(t.Context(), Limit{Key: "k", Max: 100, Window: time.Minute}, time.Unix(1_800_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	give, take := h.exchange(3, 0, 5)
	if hit := h.write(0, h.update(0)); !give.Transfer || !take.Transfer || hit.Transfer {
		t.Errorf("transfers: %t and %t of an exchange, %t of a hit", give.Transfer, take.Transfer, hit.Transfer)
	}
	for _, w := range []int{give.Attempt.Shard, take.Attempt.Shard} {
		if w != 0 && w != 3 {
			t.Errorf("a write to write shard %d", w)
		}
	}
}
