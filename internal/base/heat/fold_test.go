package heat_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/test/require"
)

// TestSpanForm pins the primary keys of minutes and blocks, and checks that the windows of several tables decode to the
// same items.
func TestSpanForm(t *testing.T) {
	var windows []heat.Item
	for n, it := range heldItems(6, 2) {
		it.Table = []string{"orders", ""}[n%2]
		windows = append(windows, heat.Fold([]heat.Item{it}, it.Start, it.Window))
	}
	for series, pk := range map[heat.Series]string{heat.Minutes: "H#1m#2026-01-05T12", heat.Blocks: "H#10m#2026-01-05"} {
		for _, incomplete := range []bool{false, true} {
			attributes := series.Stored(&heat.Span{Start: noon, Windows: windows, Incomplete: incomplete}, noon)
			if gotPK, sk := dynamo.Text(attributes, "pk"), dynamo.Text(attributes, "sk"); gotPK != pk || sk != "2026-01-05T12:00:00.000Z#" {
				t.Errorf("primary key %q, %q, want %q", gotPK, sk, pk)
			}
			tables, got, err := heat.Open(attributes)
			require.NoError(t, err)
			var back []heat.Item
			for _, d := range tables {
				for d.More() {
					it, err := d.Next()
					require.NoError(t, err)
					back = append(back, it)
				}
			}
			sorted := cmpopts.SortSlices(func(a, b heat.Item) bool { return a.Start.Before(b.Start) })
			if diff := cmp.Diff(windows, back, cmpopts.EquateApprox(0, 0.01), sorted); diff != "" || got != incomplete {
				t.Errorf("incomplete %t, items (-put +got):\n%s", got, diff)
			}
		}
	}
}

// TestSpanFits checks that a minute of windows with the longest keys fits into an item.
func TestSpanFits(t *testing.T) {
	var windows []heat.Item
	for n := range 60 {
		it := heat.Item{Start: noon.Add(time.Duration(n) * time.Second), Window: time.Second, Limit: 1000, HotRate: 1}
		for k := range 40 {
			it.Keys = append(it.Keys, key(fmt.Sprint(n, k, strings.Repeat("x", 2000)), 900, 0, 900, n))
		}
		windows = append(windows, heat.Fold([]heat.Item{it}, it.Start, time.Second))
	}
	stored := heat.Minutes.Stored(&heat.Span{Start: noon, Windows: windows}, noon)
	if size := dynamo.Size(stored); size > 400*1024 || size < 100*1024 {
		t.Errorf("%d bytes", size)
	}
}

// TestProgressForm checks that a stored progress decodes to the same values. Missing attributes are errors.
func TestProgressForm(t *testing.T) {
	want := heat.Progress{From: noon, To: noon.Add(time.Hour), Blocks: noon.Add(time.Minute)}
	got, err := heat.ParseProgress(want.Attributes())
	if err != nil || got != want {
		t.Errorf("progress %+v, %v; want %+v", got, err, want)
	}
	if _, err := heat.ParseProgress(nil); err == nil {
		t.Error("ParseProgress accepts no attributes")
	}
}
