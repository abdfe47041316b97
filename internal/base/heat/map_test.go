package heat_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// mapItem returns the item of a window that starts some seconds after noon.
func mapItem(second int, keys ...heat.Key) heat.Item {
	it := heat.Item{Start: noon.Add(time.Duration(second) * time.Second), Window: 10 * time.Second, Limit: 100, HotRate: 70, Keys: keys}
	for _, k := range keys {
		it.Units += k.Units
	}
	return it
}

// rowNames returns each row's key, with the number of keys and their range if there are several.
func rowNames(m heat.Matrix) (names []string) {
	for _, row := range m.Rows {
		name := row.Key
		if row.Keys > 1 {
			name = fmt.Sprintf("%s* (%d: %s-%s)", row.Key, row.Keys, row.First, row.Last)
		}
		names = append(names, name)
	}
	return names
}

// TestMapRows checks that with fewer rows, the hot keys have their own, and the heaviest of the others keep theirs
// longest.
func TestMapRows(t *testing.T) {
	keys := []heat.Key{key("a", 1, 0, 1, 0), key("user#100", 5, 0, 1, 0), key("user#101", 5, 0, 1, 0), key("user#102", 900, 0, 1, 0), key("user#103", 600, 0, 1, 0), key("user#200", 5, 0, 1, 0), key("user#ä", 1, 0, 1, 0), key("user#ö", 1, 0, 1, 0), key("z", 750, 0, 1, 0)}
	for rows, want := range map[int]string{
		1:   "user#102",
		2:   "user#102|z",
		3:   "user#102|user#* (4: user#103-user#ö)|z",
		4:   "* (3: a-user#101)|user#102|user#* (4: user#103-user#ö)|z",
		5:   "* (3: a-user#101)|user#102|user#103|user#* (3: user#200-user#ö)|z",
		6:   "a|user#10* (2: user#100-user#101)|user#102|user#103|user#* (3: user#200-user#ö)|z",
		8:   "a|user#100|user#101|user#102|user#103|user#200|user#* (2: user#ä-user#ö)|z",
		256: "a|user#100|user#101|user#102|user#103|user#200|user#ä|user#ö|z",
	} {
		m := heat.NewMap(heat.MapOptions{From: noon, To: noon.Add(10 * time.Second), Step: 10 * time.Second, Rows: rows})
		m.Add([]heat.Item{mapItem(0, keys...)})
		if got := strings.Join(rowNames(m.Matrix()), "|"); got != want {
			t.Errorf("%d rows: %s, want %s", rows, got, want)
		}
	}
	m := heat.NewMap(heat.MapOptions{From: noon, To: noon.Add(10 * time.Second), Step: 10 * time.Second, Rows: 5})
	if got := m.Matrix(); len(got.Rows) != 0 || len(got.Total) != 1 || got.Total[0] != 0 || got.Covered[0] != 0 || !got.AsOf.IsZero() {
		t.Errorf("without items the matrix is %+v", got)
	}
}
