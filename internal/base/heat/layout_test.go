package heat_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// TestLayNeedsARowForAnUnfoldedKey checks that a layout does not fit if an unfolded key is new, even a cold one.
func TestLayNeedsARowForAnUnfoldedKey(t *testing.T) {
	o := heat.MapOptions{From: noon, To: noon.Add(10 * time.Second), Step: 10 * time.Second, Rows: 2, ByBase: true, Unfold: []string{"C#b"}}
	first := heat.NewMap(o)
	first.Add([]heat.Item{mapItem(0, key("C#a#0", 1, 0, 1, 0), key("C#c#0", 2, 0, 1, 0), key("C#x#0", 3, 0, 1, 0))})
	layout := heat.Bare(first.Matrix().Rows)
	for name, fits := range map[string]bool{"C#a#0": true, "C#aa#0": true, "C#z#0": true, "C#b#0": false} {
		next := heat.NewMap(o)
		next.Add([]heat.Item{mapItem(0, key(name, 1, 0, 1, 0))})
		if _, ok := next.Lay(layout); ok != fits {
			t.Errorf("%s fits the rows %v: %v, want %v", name, rowNames(first.Matrix()), ok, fits)
		}
	}
}

// TestLayNeedsARowIfThereIsRoom checks that a layout with fewer rows than allowed does not fit a new key.
func TestLayNeedsARowIfThereIsRoom(t *testing.T) {
	o := heat.MapOptions{From: noon, To: noon.Add(10 * time.Second), Step: 10 * time.Second, Rows: 2, ByBase: true}
	next := heat.NewMap(o)
	next.Add([]heat.Item{mapItem(0, key("C#b#0", 1, 0, 1, 0))})
	row := func(name string) heat.Row { return heat.Row{Key: name, Keys: 1} }
	for _, c := range []struct {
		layout []heat.Row
		fits   bool
	}{
		{nil, false},
		{[]heat.Row{row("C#a")}, false},
		{[]heat.Row{row("C#b")}, true},
		{[]heat.Row{row("C#a"), row("C#c")}, true},
	} {
		if _, ok := next.Lay(c.layout); ok != c.fits {
			t.Errorf("layout %v fits: %v, want %v", c.layout, ok, c.fits)
		}
	}
}

// TestLayKeepsTheHistoryOfWriteShards checks that a write shard that was hot keeps its worst status, and the time at
// which it cooled, with and without writes since.
func TestLayKeepsTheHistoryOfWriteShards(t *testing.T) {
	o := heat.MapOptions{From: noon, To: noon.Add(10 * time.Second), Step: 10 * time.Second, Rows: 9, ByBase: true, Unfold: []string{"C#b"}}
	first := heat.NewMap(o)
	first.Add([]heat.Item{mapItem(0, key("C#b#0", 900, 0, 1, 0), key("C#b#1", 800, 0, 1, 0), key("C#b#2", 3, 0, 1, 0))})
	layout := heat.Bare(first.Matrix().Rows)
	o.From, o.To = noon.Add(5*time.Minute), noon.Add(5*time.Minute+10*time.Second)
	next := heat.NewMap(o)
	next.Add([]heat.Item{mapItem(300, key("C#b#0", 10, 0, 1, 0), key("C#b#3", 20, 0, 1, 0))})
	m, ok := next.Lay(layout)
	if !ok || len(m.Rows) != 1 {
		t.Fatalf("the layout fits: %v, rows %+v; want one row", ok, m.Rows)
	}
	var got []string
	for _, s := range m.Rows[0].WriteShards {
		got = append(got, fmt.Sprint(s.Key, " ", s.Worst, " ", s.Status, " ", s.CooledAt.Sub(noon) == 10*time.Second, " ", s.Rate, s.Units, len(s.Error), len(s.Heaviest)))
	}
	if diff := cmp.Diff([]string{"C#b#0 hot warm true 90 [10] 1 1", "C#b#1 hot warm true 80 [0] 1 1", "C#b#3 warm warm false 2 [20] 1 1"}, got); diff != "" {
		t.Errorf("write shards (-want +got):\n%s", diff)
	}
}
