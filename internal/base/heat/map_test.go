package heat_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// checkMatrix checks that a matrix has all columns, sorted rows that don't overlap, and rows and a rest that sum to the
// total. No hot key is in a range of keys.
func checkMatrix(t rapid.TB, m heat.Matrix, o heat.MapOptions) {
	columns := int((o.To.Sub(o.From) + o.Step - 1) / o.Step)
	if len(m.Total) != columns || len(m.Rest) != columns || len(m.Covered) != columns || len(m.Rows) > o.Rows {
		t.Fatalf("%d, %d and %d columns, %d rows; want %d, and at most %d", len(m.Total), len(m.Rest), len(m.Covered), len(m.Rows), columns, o.Rows)
	}
	sum := slices.Clone(m.Rest)
	last := ""
	for i, row := range m.Rows {
		first, end := row.First, row.Last
		if row.Keys == 1 {
			first, end = row.Key, row.Key
		}
		if row.Keys < 1 || (row.Keys == 1) != (row.First == "" && row.Last == "") || first > end || i > 0 && first <= last {
			t.Fatalf("row %d follows %q and is %+v", i, last, row)
		}
		if !strings.HasPrefix(first, row.Key) || !strings.HasPrefix(end, row.Key) || row.Keys == 1 && !strings.Contains(strings.ToLower(row.Key), strings.ToLower(o.Filter)) {
			t.Fatalf("row %d has the key %q for keys from %q to %q, filter %q", i, row.Key, first, end, o.Filter)
		}
		if row.Keys > 1 && row.Worst >= heat.Hot {
			t.Fatalf("a hot key is in the range of row %d: %+v", i, row)
		}
		last = end
		for c := range columns {
			sum[c] += row.Units[c]
			if row.Error[c] > m.Rest[c] {
				t.Fatalf("row %d, column %d: error %d, above the rest of %d", i, c, row.Error[c], m.Rest[c])
			}
		}
	}
	if !slices.Equal(sum, m.Total) {
		t.Fatalf("rows and rest sum to %v, want the total %v", sum, m.Total)
	}
}

// TestMap checks, for items in any order, that rows and rest sum to the items' total. If columns have whole windows,
// the true units are within a row's bounds.
func TestMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 4))
		keys := someKeys(random)
		w := newWorld(random, keys)
		o := heat.MapOptions{
			From: noon, Step: time.Duration(1+random.IntN(5)) * w.base, Rows: 1 + random.IntN(12),
			Index: []string{"", "by_rank"}[random.IntN(2)], Filter: []string{"", "", "c#A", "x"}[random.IntN(4)],
		}
		o.To = noon.Add(time.Duration(w.windows)*w.base + time.Duration(random.IntN(3))*o.Step)
		m := heat.NewMap(o)
		folded := random.IntN(2) == 0
		if folded {
			for _, it := range fold(w.items, w.base) {
				it.Start = it.Start.Truncate(time.Second)
				m.Add([]heat.Item{it})
			}
		} else {
			w.add(random, m)
		}
		other := newWorld(random, keys)
		for i := range other.items {
			other.items[i].Table = "another"
		}
		m.Add(other.items)
		got := m.Matrix()
		checkMatrix(rt, got, o)
		if folded && w.base == 7*time.Second {
			return // Truncate moved the items from the starts of their windows
		}
		w.compare(rt, got, o)
	})
}

// add adds the windows to a map one by one, in random order.
func (w *world) add(random *rand.Rand, m *heat.Map) {
	for _, n := range random.Perm(w.windows) {
		var items []heat.Item
		for _, it := range w.items {
			if it.Start.Equal(noon.Add(time.Duration(n) * w.base)) {
				items = append(items, it)
			}
		}
		m.Add(items)
	}
}

// compare checks a matrix against the true units and the windows with items.
func (w *world) compare(t *rapid.T, m heat.Matrix, o heat.MapOptions) {
	for column := range m.Total {
		truth, total := make(map[string]uint64), uint64(0)
		seen := make(map[time.Time]bool)
		for _, it := range w.items {
			if int(it.Start.Sub(o.From)/o.Step) == column {
				seen[it.Start] = true
			}
		}
		for n, units := range w.truth {
			if int(time.Duration(n)*w.base/o.Step) != column {
				continue
			}
			for key, units := range units {
				if key[0] == o.Index {
					truth[key[1]] += units
					total += units
				}
			}
		}
		if m.Total[column] != total {
			t.Fatalf("column %d: total %d, want %d", column, m.Total[column], total)
		}
		if want := float64(len(seen)) * float64(w.base) / float64(o.Step); m.Covered[column] < want-1e-9 || m.Covered[column] > want+1e-9 {
			t.Fatalf("column %d: %v covered, want %v", column, m.Covered[column], want)
		}
		for _, row := range m.Rows {
			if row.Keys == 1 && (truth[row.Key] < row.Units[column] || truth[row.Key] > row.Units[column]+row.Error[column]) {
				t.Fatalf("column %d: %s has %d units, outside the row's %d+%d", column, row.Key, truth[row.Key], row.Units[column], row.Error[column])
			}
		}
	}
}

// TestMapDividesWindows checks that windows that cross columns' borders, or are longer than columns, are divided, and
// that each unit counts once.
func TestMapDividesWindows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 5))
		w := newWorld(random, someKeys(random))
		o := heat.MapOptions{From: noon.Add(-time.Minute), To: noon.Add(time.Hour), Step: time.Duration(500+random.IntN(60_000)) * time.Millisecond, Rows: 1 + random.IntN(9)}
		m := heat.NewMap(o)
		w.add(random, m)
		got := m.Matrix()
		checkMatrix(rt, got, o)
		var want, sum uint64
		for _, it := range w.items {
			want += it.Units
		}
		for _, units := range got.Total {
			sum += units
		}
		if sum != want {
			rt.Fatalf("the columns sum to %d units, want %d", sum, want)
		}
		half := o
		half.From, half.To = noon.Add(time.Duration(w.windows)*w.base/2).Truncate(time.Millisecond), noon.Add(2*time.Hour)
		first := o
		first.To = half.From
		var halves uint64
		for _, o := range []heat.MapOptions{first, half} {
			o.Step = o.To.Sub(o.From)
			m := heat.NewMap(o)
			w.add(random, m)
			checkMatrix(rt, m.Matrix(), o)
			halves += m.Matrix().Total[0]
		}
		if halves != want {
			rt.Fatalf("two halves of the time sum to %d units, want %d", halves, want)
		}
	})
}

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

// TestMapCoverage checks that a column's coverage is the share of its time and of its records that its items have.
func TestMapCoverage(t *testing.T) {
	m := heat.NewMap(heat.MapOptions{From: noon, To: noon.Add(time.Minute), Step: 20 * time.Second, Rows: 5})
	half, full := mapItem(0), mapItem(10)
	half.Records, half.Coverage = 10, 0.5
	m.Add([]heat.Item{half, full})
	part, rest := mapItem(20), mapItem(20)
	part.Records, part.Coverage, part.StreamShard, rest.Records = 10, 0.1, "a", 100
	m.Add([]heat.Item{part, rest})
	if got, want := m.Matrix().Covered, []float64{0.75, 0.5 * 110 / 200, 0}; !slices.Equal(got, want) {
		t.Errorf("covered %v, want %v", got, want)
	}
}
