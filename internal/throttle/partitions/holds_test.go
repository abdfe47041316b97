package partitions

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestHoldsAgainstPlainModel compares conflicts of transactions, writes and reads with a model that keeps the end of each
// item's last hold.
func TestHoldsAgainstPlainModel(t *testing.T) {
	const hold = 5 * time.Millisecond
	conflicts := 0
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(1_800_000_000, 0)
		h := NewHolds(hold, func() time.Time { return now })
		s, heldUntil := &Space{}, map[string]time.Time{}
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), 1, 3, rapid.ID)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "ms")) * time.Millisecond)
			items := names.Draw(t, "items")
			var ids []ItemID
			var want []bool
			for _, i := range items {
				ids, want = append(ids, ItemID{s, i}), append(want, now.Before(heldUntil[i]))
			}
			if !slices.Contains(want, true) {
				want = nil
			}
			if rapid.Bool().Draw(t, "reads") {
				if got := h.Blocked(ids...); !slices.Equal(got, want) {
					t.Fatalf("Blocked(%v) = %v, want %v", items, got, want)
				}
				continue
			}
			until, blocked := h.Begin(ids)
			if !slices.Equal(blocked, want) || (until != 0) != (want == nil) || want == nil && until != now.Add(hold).UnixNano() {
				t.Fatalf("transaction of %v: blocked %v, held until %d; want %v", items, blocked, until, want)
			}
			if blocked != nil {
				conflicts++
				continue
			}
			for _, i := range items {
				heldUntil[i] = now.Add(hold)
			}
		}
		now = now.Add(hold)
		if h.Blocked(ItemID{s, "a"}); len(h.items) != 0 || len(h.order) != 0 {
			t.Fatalf("%d items are stored after all holds have ended, want none", len(h.items))
		}
	})
	if conflicts == 0 {
		t.Error("no run had a conflict")
	}
	none := NewHolds(0, time.Now)
	if until, blocked := none.Begin([]ItemID{{&Space{}, "a"}}); until != 0 || blocked != nil || len(none.items) > 0 {
		t.Errorf("without a hold: held until %d, %v", until, blocked)
	}
}
