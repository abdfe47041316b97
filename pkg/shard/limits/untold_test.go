package limits

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/libtest"
)

// TestTransfersAreNoEvidence checks that writes which transfer quota are marked as such. More write shards would cause
// more of them.
func TestTransfersAreNoEvidence(t *testing.T) {
	l := New(&dynamodb.Client{}, "t", libtest.EmptyMap(), Options{})
	h, err := l.newHit(t.Context(), Limit{Key: "k", Max: 100, Window: time.Minute}, 1, time.Unix(1_800_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	both := h.writes(h.transferAndHit(3, 0, 5))
	if hit := h.writes([]change{{0, 1}})[0]; !both[0].Transfer || !both[1].Transfer || hit.Transfer {
		t.Errorf("Transfer is %t and %t of a transfer's writes and %t of a hit, want true, true, false", both[0].Transfer, both[1].Transfer, hit.Transfer)
	}
	if from, to := both[0].Attempt.Shard, both[1].Attempt.Shard; from != 0 || to != 3 {
		t.Errorf("a transfer from write shard %d to %d, want 0 to 3", from, to)
	}
}
