package limits

import (
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestDonorsAreNoEvidence checks that hits on the first write shards of a limit that has grown within its
// window are transfers: others take quota from them, the more the limit grows.
func TestDonorsAreNoEvidence(t *testing.T) {
	l, start := New(nil, "t", libtest.EmptyMap(), Options{}), time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		grown    time.Time
		shard    int
		transfer bool
	}{
		"a first write shard of a limit that grew":  {start.Add(time.Minute), 0, true},
		"a new write shard":                         {start.Add(time.Minute), 1, false},
		"a limit that grew before the window":       {start.Add(-time.Minute), 0, false},
		"a write shard of a window that it grew in": {start.Add(time.Minute), 3, false},
	} {
		h, err := l.hit(t.Context(), Limit{Key: "login", Max: 100, Window: time.Hour}, start.Add(2*time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		h.useEntry(shardmap.Entry{Key: "R#login", History: shard.History{{At: c.grown, Count: 4}}})
		if w := h.write(c.shard, h.update(c.shard)); w.Transfer != c.transfer {
			t.Errorf("%s: transfer is %t", name, w.Transfer)
		}
	}
}
