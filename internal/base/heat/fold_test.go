package heat_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
)

// TestFoldedForm pins the primary keys of stored folded items, by layer, and checks that they decode to the same items.
func TestFoldedForm(t *testing.T) {
	for layer, pk := range map[heat.Layer]string{heat.ByWindow: "H#w#2026-01-05T12", heat.ByMinute: "H#1m#2026-01-05", heat.ByTenMinutes: "H#10m#2026-01-05"} {
		it := heat.Fold(heldItems(6, 2), noon, time.Hour)
		it.Table = "orders"
		attributes := layer.Stored(&it, noon)
		if got := dynamo.Text(attributes, "pk"); got != pk || !slices.Contains(layer.Partitions(noon, noon.Add(time.Minute)), got) {
			t.Errorf("pk %q, want %q", got, pk)
		}
		if got, want := dynamo.Text(attributes, "sk"), "2026-01-05T12:00:00.000Z#orders#10000"; got != want {
			t.Errorf("sk %q, want %q", got, want)
		}
		back, err := heat.Parse(attributes)
		if diff := cmp.Diff(it, back, cmpopts.EquateApprox(0, 0.01)); err != nil || diff != "" {
			t.Errorf("error %v, item (-put +got):\n%s", err, diff)
		}
	}
}

// TestLayerFold checks that windows of different tables or lengths are folded into separate items.
func TestLayerFold(t *testing.T) {
	item := func(table string, second int, length time.Duration) heat.Item {
		return heat.Item{Table: table, Start: noon.Add(time.Duration(second) * time.Second), Window: length, Limit: 1000, HotRate: 700, Units: 1, Keys: []heat.Key{key("a", 1, 0, 1, 0)}}
	}
	items := []heat.Item{item("", 0, 10*time.Second), item("", 10, 10*time.Second), item("t", 0, 10*time.Second), item("", 30, 15*time.Minute)}
	got := heat.ByMinute.Fold(items, noon)
	type form struct {
		Table                string
		Start                int
		Base, Length         time.Duration
		Units, FirstKeyUnits uint64
	}
	var forms []form
	for _, it := range got {
		forms = append(forms, form{it.Table, int(it.Start.Sub(noon).Seconds()), it.Base, it.Window, it.Units, it.Keys[0].Units})
	}
	want := []form{{"", 0, 10 * time.Second, time.Minute, 2, 2}, {"", 30, 15 * time.Minute, 15 * time.Minute, 1, 1}, {"t", 0, 10 * time.Second, time.Minute, 1, 1}}
	if diff := cmp.Diff(want, forms); diff != "" {
		t.Errorf("folded items (-want +got):\n%s", diff)
	}
}

// TestProgressForm checks that a stored progress and a late note decode to the same values. Missing attributes are
// errors.
func TestProgressForm(t *testing.T) {
	want := heat.Progress{From: noon, To: noon.Add(time.Hour), Late: noon.Add(time.Minute)}
	got, err := heat.ParseProgress(want.Attributes())
	if err != nil || got != want {
		t.Errorf("progress %+v, %v; want %+v", got, err, want)
	}
	if _, err := heat.ParseProgress(nil); err == nil {
		t.Error("ParseProgress accepts no attributes")
	}
	it := heat.Item{Start: noon, StreamShard: "s"}
	late, err := heat.ParseLate(it.LateNote(noon.Add(time.Second), noon.Add(time.Minute), noon.Add(time.Hour)))
	if err != nil || late != (heat.Late{Start: noon, End: noon.Add(time.Second), Noted: noon.Add(time.Minute)}) {
		t.Errorf("late note %+v, %v", late, err)
	}
	if _, err := heat.ParseLate(nil); err == nil {
		t.Error("ParseLate accepts no attributes")
	}
}
