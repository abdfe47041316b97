package live

import (
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// TestHistoryKeepsSixHours checks that the windows of the last six hours follow each other without gap or overlap, with all
// units, and that items which come late change a window that is kept.
func TestHistoryKeepsSixHours(t *testing.T) {
	item := func(at time.Time, shard string) []heat.Item {
		return []heat.Item{{Start: at, Window: Window, StreamShard: shard, Limit: 1000, HotRate: 700, Units: 7, Keys: []heat.Key{{Key: "k", Units: 5, Writes: 5}}}}
	}
	var h history
	start := time.Date(2026, 1, 5, 12, 3, 20, 0, time.UTC)
	end := start.Add(7 * time.Hour)
	for at := start; at.Before(end); at = at.Add(Window) {
		h.addWindow(heat.Window{Start: at, Items: item(at, "1")})
	}
	h.addLate(end.Add(-20*time.Second), item(end.Add(-20*time.Second), "2"))
	h.addLate(start, item(start, "2")) // too late
	list := windowsBetween(h, time.Time{}, end)
	next := end.Add(-historyTime)
	for _, w := range list {
		want := uint64(7)
		if w.Start.Equal(end.Add(-20 * time.Second)) {
			want += 7
		}
		if !w.Start.Equal(next) || len(w.Items) != 1 || w.Items[0].Units != want {
			t.Fatalf("a window begins at %v with %+v, want %v and %d units", w.Start, w.Items, next, want)
		}
		next = w.Start.Add(Window)
	}
	if !next.Equal(end) || len(list) != 6*360 {
		t.Errorf("%d windows until %v, want those of six hours until %v", len(list), next, end)
	}
}
