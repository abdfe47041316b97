package live

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/test/require"
)

// TestLateItemsInAllLayers adds items after the end of their window. They must change each layer as if they had arrived
// in time.
func TestLateItemsInAllLayers(t *testing.T) {
	for range require.Runs(20, 1000) {
		seed := rand.Uint64()
		dice := rand.New(rand.NewPCG(seed, 0))
		start := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
		fragment := func(at time.Time, shard int) heat.Item {
			it := heat.Item{Table: "orders", Start: at, Window: Window, StreamShard: fmt.Sprint(shard), Limit: 1000, HotRate: 700, Rest: uint64(dice.IntN(50))}
			for k := range 6 {
				if units := uint64(1 + dice.IntN(5000)); dice.IntN(3) > 0 {
					it.Keys = append(it.Keys, heat.Key{
						Key: fmt.Sprint("key-", k), Units: units, Err: uint64(dice.IntN(20)), Writes: units,
						Peak: units/10 + 1, PeakAt: at.Add(time.Duration(dice.IntN(10)) * time.Second),
					})
					it.Units += units
					it.Records += units
				}
			}
			return it
		}
		var inTime, late history
		withheld := make(map[time.Time][]heat.Item)
		for i := range 120 + dice.IntN(60) {
			at := start.Add(time.Duration(i) * Window)
			one, other := fragment(at, 1), fragment(at, 2)
			inTime.addWindow(heat.Window{Start: at, Items: []heat.Item{one, other}})
			if dice.IntN(4) == 0 {
				late.addWindow(heat.Window{Start: at, Items: []heat.Item{one}})
				withheld[at] = []heat.Item{other}
			} else {
				late.addWindow(heat.Window{Start: at, Items: []heat.Item{one, other}})
			}
			for at, items := range withheld {
				if dice.IntN(10) == 0 {
					late.amend(at, items)
					delete(withheld, at)
				}
			}
		}
		for at, items := range withheld {
			late.amend(at, items)
		}
		type figures struct {
			key         string
			rate, error float64
			status      heat.Status
			start       time.Time
		}
		for i := range kept {
			if len(late.layers[i]) != len(inTime.layers[i]) || len(late.layers[i]) == 0 {
				t.Fatalf("seed %d, layer %d: %d windows, want %d and more than none", seed, i, len(late.layers[i]), len(inTime.layers[i]))
			}
			for j := range late.layers[i] {
				rows := func(h *history) (list []figures) {
					for _, row := range heat.Merge(h.layers[i][j].Items) {
						list = append(list, figures{row.Key, row.WriteUnitsPerSecond, row.Error, row.Status, row.Start})
					}
					return list
				}
				if diff := cmp.Diff(rows(&inTime), rows(&late), cmp.AllowUnexported(figures{})); diff != "" {
					t.Fatalf("seed %d, layer %d, window %d (-in time +late):\n%s", seed, i, j, diff)
				}
			}
		}
	}
}
