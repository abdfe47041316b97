package heat

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/display"
)

// rowText returns a row with its verdicts and numbers: key, keys, status, worst, rate, current, peak, units, errors, heaviest.
func rowText(r Row) string {
	return fmt.Sprintf("%s %d %v %v %v %v %d %v%v%v", r.Key, r.Keys, r.Status, r.Worst, r.Rate, r.Current, r.Peak, r.Units, r.Error, r.Heaviest)
}

// matrixText returns all of a matrix but its times.
func matrixText(m Matrix) (lines []string) {
	lines = append(lines, fmt.Sprint(m.Table, " ", m.Indexes, " ", m.PartitionWCU, " ", m.HotWCU, " rest", m.Rest, " total", m.Total, " covered", m.Covered))
	for _, r := range m.Rows {
		lines = append(lines, rowText(r))
		for _, s := range r.WriteShards {
			lines = append(lines, "- "+rowText(s))
		}
	}
	return lines
}

// counted returns the item of a window of 10 s of own tables.
func counted(second int, rest, unlisted uint64, keys ...Key) Item {
	it := tenSeconds(second, "s", rest, keys...)
	it.Units += unlisted
	it.IndexUnits = map[string]uint64{"idle": 0}
	for _, k := range keys {
		if k.Index != "" {
			it.IndexUnits[k.Index] += k.Units
		}
	}
	return it
}

// TestMatrix checks all numbers of small maps.
func TestMatrix(t *testing.T) {
	items := []Item{
		counted(0, 3, 30, Key{Key: "C#a#0", Units: 800, Err: 2, Peak: 90, PeakAt: at(2)}, Key{Key: "C#a#1", Units: 100, Peak: 20, PeakAt: at(3)}, Key{Key: "C#b#0", Units: 50, Err: 1, Peak: 50, PeakAt: at(2)}, Key{Index: "i", Key: "x", Units: 70, Err: 4, Peak: 9, PeakAt: at(2)}),
		counted(10, 4, 0, Key{Key: "C#a#1", Units: 40, Peak: 20, PeakAt: at(13)}, Key{Key: "z", Units: 5, Peak: 1, PeakAt: at(12)}),
		counted(20, 0, 7, Key{Key: "C#a#0", Units: 60, Peak: 8, PeakAt: at(22)}),
		counted(-10, 0, 0, Key{Key: "C#b#0", Units: 710, Peak: 80, PeakAt: at(-5)}),
	}
	growth := map[string][]Change{"C#b": {{Time: display.Time{Time: at(12)}, Before: 1, Shards: 4, By: "ingest"}}}
	o := MapOptions{From: zero, To: at(40), Step: 20 * time.Second, Rows: 10}
	with := func(change func(*MapOptions)) MapOptions {
		o := o
		change(&o)
		return o
	}
	for name, c := range map[string]struct {
		o    MapOptions
		want []string
	}{
		"partition keys": {o, []string{
			" [i] 100 70 rest[30 7] total[1025 67] covered[1 0.5]",
			"C#a#0 1 hot hot 80 0 90 [800 60][6 0][80 6]",
			"C#a#1 1 normal normal 10 0 20 [140 0][0 0][10 0]",
			"C#b#0 1 normal normal 5 0 50 [50 0][5 0][5 0]",
			"z 1 normal normal 0.5 0 1 [5 0][3 0][0.5 0]",
		}},
		"one row": {with(func(o *MapOptions) { o.Rows = 1 }), []string{
			" [i] 100 70 rest[225 7] total[1025 67] covered[1 0.5]", "C#a#0 1 hot hot 80 0 90 [800 60][6 0][80 6]",
		}},
		"two rows": {with(func(o *MapOptions) { o.Rows = 2 }), []string{
			" [i] 100 70 rest[30 7] total[1025 67] covered[1 0.5]", "C#a#0 1 hot hot 80 0 90 [800 60][6 0][80 6]", " 3 normal normal 10 0 50 [195 0][8 0][10 0]",
		}},
		"a range with an unfolded key's name": {with(func(o *MapOptions) { o.Rows, o.ByBase, o.Unfold = 2, true, []string{""} }), []string{
			" [i] 100 70 rest[30 7] total[1025 67] covered[1 0.5]", "C#a 1 hot hot 80 0 90 [940 60][6 0][80 6]", " 2 normal normal 5 0 50 [55 0][8 0][5 0]",
		}},
		"unfolded partition keys": {with(func(o *MapOptions) { o.Filter, o.Unfold = "C#b", []string{"C#b#0"} }), []string{
			" [i] 100 70 rest[975 67] total[1025 67] covered[1 0.5]", "C#b#0 1 normal normal 5 0 50 [50 0][5 0][5 0]",
		}},
		"an index":      {with(func(o *MapOptions) { o.Index = "i" }), []string{" [i] 100 70 rest[0 0] total[70 0] covered[1 0.5]", "x 1 normal normal 7 0 9 [70 0][0 0][7 0]"}},
		"a filter":      {with(func(o *MapOptions) { o.Filter = "C#B" }), []string{" [i] 100 70 rest[975 67] total[1025 67] covered[1 0.5]", "C#b#0 1 normal normal 5 0 50 [50 0][5 0][5 0]"}},
		"another table": {with(func(o *MapOptions) { o.Table = "orders" }), []string{"orders [] 0 0 rest[0 0] total[0 0] covered[0 0]"}},
		"base keys": {with(func(o *MapOptions) { o.ByBase, o.Unfold = true, []string{"C#b"} }), []string{
			" [i] 100 70 rest[30 7] total[1025 67] covered[1 0.5]",
			"C#a 1 hot hot 80 0 90 [940 60][6 0][80 6]",
			"C#b 1 normal normal 5 0 50 [50 0][5 0][5 0]", "- C#b#0 1 normal normal 5 0 50 [50 0][5 0][5 0]",
			"z 1 normal normal 0.5 0 1 [5 0][3 0][0.5 0]",
		}},
		"a growth": {with(func(o *MapOptions) { o.ByBase, o.Changes, o.Rows = true, growth, 2 }), []string{
			" [i] 100 70 rest[35 7] total[1025 67] covered[1 0.5]",
			"C#a 1 hot hot 80 0 90 [940 60][6 0][80 6]", "C#b 1 hot hot 5 0 50 [50 0][5 0][5 0]",
		}},
		"growths of partition keys": {with(func(o *MapOptions) { o.Changes, o.Filter = growth, "C#b" }), []string{
			" [i] 100 70 rest[975 67] total[1025 67] covered[1 0.5]", "C#b#0 1 normal normal 5 0 50 [50 0][5 0][5 0]",
		}},
		"read without windows": {with(func(o *MapOptions) { o.Read, o.AsOf, o.Filter = at(10), at(40), "none" }), []string{" [i] 100 70 rest[1025 67] total[1025 67] covered[1 1]"}},
		"read in part":         {with(func(o *MapOptions) { o.Read, o.AsOf, o.Filter = at(25), at(40), "none" }), []string{" [i] 100 70 rest[1025 67] total[1025 67] covered[1 0.75]"}},
	} {
		m := NewMap(c.o)
		for _, it := range items {
			m.Add([]Item{it})
		}
		if diff := cmp.Diff(c.want, matrixText(m.Matrix())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestMatrixTimes checks when a matrix is as of, and what open and unreadable windows add.
func TestMatrixTimes(t *testing.T) {
	m := NewMap(MapOptions{From: zero, To: at(40), Step: 20 * time.Second, Rows: 10})
	m.AddUnread(Window{Start: at(20), Unreadable: []error{ErrVersion}}) // of the usual length
	m.Add([]Item{counted(20, 0, 0), counted(30, 0, 0)})
	m.Add([]Item{counted(0, 0, 0, Key{Key: "a", Units: 5, PeakAt: zero}), counted(10, 0, 0)})
	m.AddOpen([]Item{counted(40, 0, 0, Key{Key: "b", Units: 700, PeakAt: at(40)}, Key{Key: "c", Units: 5, PeakAt: at(40)}, Key{Index: "i", Key: "d", Units: 700, PeakAt: at(40)})})
	m.AddUnread(Window{Start: zero, Items: []Item{{Window: 40 * time.Second}, {}, {}}, Unreadable: []error{ErrVersion}})
	got := m.Matrix()
	if want := []float64{0.75, 0.25}; !slices.Equal(got.Covered, want) || !got.AsOf.Equal(at(40)) || !got.From.Equal(zero) || !got.To.Equal(at(40)) || got.Step != display.Duration(20*time.Second) {
		t.Errorf("covered %v, as of %v", got.Covered, got.AsOf)
	}
	if want := []string{"a 1 normal normal 0.5 0 0 [5 0][0 0][0.5 0]", "b 1 hot hot 0 0 0 [0 0][0 0][0 0]"}; !slices.Equal(matrixText(got)[1:], want) {
		t.Error(matrixText(got))
	}
	long := counted(0, 0, 0)
	long.Window = 40 * time.Second
	m = NewMap(MapOptions{From: zero, To: at(40), Step: 20 * time.Second})
	m.Add([]Item{long})
	if m.AddUnread(Window{Start: zero, Unreadable: []error{ErrVersion}}); !slices.Equal(m.covered(), []float64{0, 0}) {
		t.Errorf("an unread window of the others' length: covered %v", m.covered())
	}
	if n := len(NewMap(MapOptions{From: zero, To: at(40).Add(1), Step: 20 * time.Second}).columns); n != 3 {
		t.Errorf("%d columns of 40 s and a nanosecond", n)
	}
}

// TestFullMap checks that a full map keeps the hottest keys, and that a dropped key that is added again has its units in the
// error.
func TestFullMap(t *testing.T) {
	for name, bound := range map[string]func(*Map){"keys": func(m *Map) { m.maxKeys = 4 }, "cells": func(m *Map) { m.maxCells = 5 }} {
		m := NewMap(MapOptions{From: zero, To: at(40), Step: 20 * time.Second, Rows: 10})
		bound(m)
		m.Add([]Item{counted(0, 0, 0, Key{Key: "hot", Units: 800, PeakAt: zero}, Key{Key: "warm", Units: 600, PeakAt: zero}, Key{Key: "b", Units: 6, PeakAt: zero}, Key{Key: "a", Units: 6, Err: 3, PeakAt: zero})})
		if len(m.lines) != 4 {
			t.Errorf("%s: %d keys are kept, want 4", name, len(m.lines))
		}
		m.Add([]Item{counted(20, 0, 0, Key{Key: "c", Units: 1, PeakAt: at(20)}, Key{Key: "d", Units: 2, PeakAt: at(20)})})
		m.Add([]Item{counted(30, 0, 0, Key{Key: "a", Units: 4, PeakAt: at(30)}, Key{Key: "warm", Units: 5, PeakAt: at(30)})})
		want := []string{
			" [] 100 70 rest[12 3] total[1412 12] covered[0.5 1]",
			"a 1 normal normal 0.4 0 0 [0 4][9 2][0 0.4]", "hot 1 hot hot 80 0 0 [800 0][0 0][80 0]", "warm 1 normal normal 60 0 0 [600 5][0 0][60 0.5]",
		}
		if diff := cmp.Diff(want, matrixText(m.Matrix())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestColdestKeysAreDropped checks by what a full map with room for one key chooses the key that it keeps.
func TestColdestKeysAreDropped(t *testing.T) {
	for by, kept := range map[string]line{
		"status": {key: "b", rate: 1, units: 1, Verdicts: Verdicts{Worst: Hot}}, "rate": {key: "b", rate: 3, units: 1}, "units": {key: "b", rate: 2, units: 3}, "key": {key: "a", rate: 2, units: 2},
	} {
		m := NewMap(MapOptions{From: zero, To: at(10), Step: 10 * time.Second})
		m.maxKeys, m.lines = 2, []line{{key: "aa", rate: 2, units: 2}, kept}
		if m.dropColdest(); len(m.lines) != 1 || m.lines[0].key != kept.key || m.keys[kept.key] != 0 || len(m.keys) != 1 {
			t.Errorf("by %s: %+v", by, m.lines)
		}
	}
}

// TestFullMapAgain checks that a key that was dropped twice has the units of both times in its error.
func TestFullMapAgain(t *testing.T) {
	m := NewMap(MapOptions{From: zero, To: at(10), Step: 10 * time.Second, Rows: 10})
	m.maxKeys = 2
	others := []Key{{Key: "b", Units: 50, PeakAt: zero}, {Key: "c", Units: 40, PeakAt: zero}}
	for _, units := range []uint64{3, 5, 7} {
		it := counted(0, 0, 0, append(slices.Clone(others), Key{Key: "a", Units: units, PeakAt: zero})...)
		it.Window = time.Second
		it.Start = at(int(units))
		if units == 7 {
			it.Keys = it.Keys[2:]
		}
		m.Add([]Item{it})
	}
	m.maxKeys = 9
	want := []string{"a 1 normal normal 7 0 0 [7][85][7]", "b 1 normal normal 50 0 0 [100][0][50]"} // 8 are a's, 85 bound any dropped key's
	if rows := matrixText(m.Matrix())[1:]; !slices.Equal(rows, want) {
		t.Errorf("%q", rows)
	}
}

// TestMergedRows checks the times of a row whose windows come in any order, and the tops of two parts of one folded window.
func TestMergedRows(t *testing.T) {
	for _, order := range [][]int{{10, 0, 20}, {0, 10, 20}, {20, 10, 0}} {
		var m Merger
		for _, second := range order {
			m.Add([]Item{tenSeconds(second, "s", 0, Key{Key: "a", Units: 5, PeakAt: at(second)})})
		}
		if rows := m.Rows(); len(rows) != 1 || rows[0].FirstSeen != at(0) || rows[0].LastSeen != at(30) || rows[0].Start != at(order[0]) {
			t.Errorf("%v: %+v", order, rows)
		}
	}
	part := func(units, errs uint64, top int) Item {
		k := Key{Key: "a", Units: units, Err: errs, Top: units, TopErr: errs, TopAt: at(top), TopMost: units + errs, PeakAt: zero}
		return Item{Start: zero, Window: 10 * time.Second, Base: 10 * time.Second, Limit: 100, HotRate: 70, Keys: []Key{k}}
	}
	for _, c := range []struct {
		items []Item
		rate  float64
		error float64
	}{
		{[]Item{part(30, 1, 0), part(20, 2, 0)}, 5, 0.3},
	} {
		if rows := Merge(c.items); len(rows) != 1 || rows[0].WriteUnitsPerSecond != c.rate || rows[0].Error != c.error {
			t.Errorf("%+v", rows)
		}
	}
}

// TestNumbers checks rates' hundredths, thousands and common prefixes.
func TestNumbers(t *testing.T) {
	for rate, want := range map[float64]float64{0.999: 0.99, 1: 1, 0: 0} {
		if got := Hundredths(rate); got != want {
			t.Errorf("%v: %v", rate, got)
		}
	}
	for n, want := range map[float64]string{0: "0", 999.9: "999", 1000: "1,000", 123456: "123,456", 1234567: "1,234,567"} {
		if got := Grouped(n); got != want {
			t.Errorf("%v: %s", n, got)
		}
	}
	for _, c := range []struct{ a, b, want string }{{"user#ä", "user#ö", "user#"}, {"ab", "abc", "ab"}, {"", "a", ""}, {"abc", "ab", "ab"}, {"x", "y", ""}, {"ä", "ö", ""}} {
		if got := commonPrefix(c.a, c.b); got != c.want {
			t.Errorf("%s and %s: %q", c.a, c.b, got)
		}
	}
}
