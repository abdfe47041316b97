package live

import (
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// TestHistoryKeepsEachTimeOnce checks that a day's windows follow each other without gap or overlap, the older ones longer,
// with all units, and that items which come late change a window of the last hour.
func TestHistoryKeepsEachTimeOnce(t *testing.T) {
	item := func(at time.Time, shard string) []heat.Item {
		return []heat.Item{{Start: at, Window: Window, StreamShard: shard, Limit: 1000, HotRate: 700, Units: 7, Keys: []heat.Key{{Key: "k", Units: 5, Writes: 5}}}}
	}
	var h history
	start := time.Date(2026, 1, 5, 12, 3, 20, 0, time.UTC)
	end := start.Add(26 * time.Hour)
	for at := start; at.Before(end); at = at.Add(Window) {
		h.addWindow(heat.Window{Start: at, Items: item(at, "1")})
	}
	h.addLate(end.Add(-20*time.Second), item(end.Add(-20*time.Second), "2"))
	h.addLate(start, item(start, "2")) // too late
	list := h.windows(time.Time{}, end)
	next, lengths := list[0].Start, map[time.Duration]int{}
	for _, w := range list {
		length, units := w.Items[0].Window, uint64(0)
		for _, it := range w.Items {
			units += it.Units
		}
		want := 7 * uint64(length/Window)
		if w.Start.Equal(end.Add(-20 * time.Second)) {
			want += 7
		}
		if !w.Start.Equal(next) || units != want {
			t.Fatalf("a window of %v begins at %v with %d units, want %v and %d", length, w.Start, units, next, want)
		}
		next = w.Start.Add(length)
		lengths[length]++
	}
	if first := list[0].Start; !next.Equal(end) || first.After(start.Add(10*time.Minute)) || lengths[10*time.Minute] < 10 || lengths[time.Minute] < 22*60 || lengths[Window] < 360 {
		t.Errorf("windows from %v to %v, by length %v", first, next, lengths)
	}
}
