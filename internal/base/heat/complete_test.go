package heat_test

import (
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// reportOf returns a stream shard's item of the window that starts some seconds after noon.
func reportOf(second int, streamShard, part string) heat.Item {
	return heat.Item{Start: noon.Add(time.Duration(second) * time.Second), Window: 10 * time.Second, StreamShard: streamShard, Part: part}
}

// TestComplete checks that a window is complete when each stream shard with an item in the window before has put an
// item of this or a later window, or counts as quiet.
func TestComplete(t *testing.T) {
	both := []heat.Item{reportOf(0, "a", ""), reportOf(0, "b", "")}
	slow := reportOf(0, "b", "")
	slow.Lag = 7 * time.Second
	for name, c := range map[string]struct {
		items   []heat.Item
		now     int  // seconds after noon
		running bool // the detector ran just now
		want    int  // the end of the last complete window, in seconds after noon
	}{
		"no items":                             {nil, 100, false, 0},
		"no items, the detector runs":          {nil, 49, true, 20},
		"the window has ended":                 {both, 14, false, 0},
		"the window has ended in time":         {both, 15, false, 10},
		"no newer item":                        {both, 50, false, 10},
		"no newer item yet, the detector runs": {both, 39, true, 10},
		"no newer item, the detector runs":     {both, 40, true, 20},
		"a stream shard's item is missing":     {append(both[:1:1], slow, reportOf(10, "a", "")), 40, false, 10},
		"it is quiet":                          {append(both[:1:1], slow, reportOf(10, "a", "")), 41, false, 20},
		"it was never late":                    {append(both[:2:2], reportOf(10, "a", "")), 25, false, 20},
		"it has put a later item":              {append(both[:1:1], slow, reportOf(10, "a", ""), reportOf(20, "b", "")), 29, false, 20},
		"a new stream shard":                   {append(both[:2:2], reportOf(10, "a", ""), reportOf(10, "b", ""), reportOf(10, "c", "")), 29, false, 20},
		"a quiet window between":               {append(both[:2:2], reportOf(20, "a", ""), reportOf(20, "b", "")), 36, false, 30},
		"after two hours without a detector":   {[]heat.Item{reportOf(-7200, "a", ""), reportOf(0, "a", "")}, 16, false, 10},
	} {
		r := heat.Reports{Window: 10 * time.Second, Hold: 10 * time.Second} // holds no window longer
		if c.running {
			r.Ran = noon.Add(time.Duration(c.now) * time.Second)
		}
		r.Add(c.items)
		if got := r.Complete(noon, noon.Add(time.Duration(c.now)*time.Second), heat.OnTime); !got.Equal(noon.Add(time.Duration(c.want) * time.Second)) {
			t.Errorf("%s: complete up to %v after noon, want %d s", name, got.Sub(noon), c.want)
		}
	}
}

// TestCompleteByFoldedWindows checks that Complete takes the window's length from folded items, so that no part of a
// running window is complete.
func TestCompleteByFoldedWindows(t *testing.T) {
	const minute = time.Minute
	folded := heat.Fold([]heat.Item{{Start: noon.Add(-minute), Window: minute, StreamShard: "a", Units: 5}}, noon.Add(-minute), minute)
	r := heat.Reports{Ran: noon.Add(50 * time.Second)}
	r.Add([]heat.Item{folded})
	for _, second := range []time.Duration{55, 64} {
		if got := r.Complete(noon, noon.Add(second*time.Second), heat.OnTime); r.Window != minute || !got.Equal(noon) {
			t.Errorf("after %d s: windows of %v, complete up to %v; want %v, %v", second, r.Window, got, minute, noon)
		}
	}
}
