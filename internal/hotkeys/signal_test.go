package hotkeys_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/heat"
)

// TestSaturated checks that a write shard at 95 % of its partition's limit is saturated, and one just below is only
// hot.
func TestSaturated(t *testing.T) {
	f := newFixture(settings())
	deliver(t, f, slices.Concat(repeat("C#a#0", 950, 1), repeat("C#b#0", 949, 2)), 5000)
	if v := f.values("SaturatedKeys")["hotshard-items"]; !slices.Equal(v, []float64{1}) || strings.Count(f.logs.String(), "key=C#a#0 status=saturated") != 2 {
		t.Errorf("SaturatedKeys %v, want 1, of C#a#0\n%s", v, f.logs)
	}
	if rows := f.rows(t); rows[0].Key != "C#a#0" || rows[0].Status != heat.Saturated || rows[1].Status != heat.Hot {
		t.Errorf("rows %+v, want C#a#0 saturated and the next one hot", rows)
	}
}

// TestUncertainWindows checks that a window is reported as uncertain if an evicted key of the table or of an index may
// have been hot.
func TestUncertainWindows(t *testing.T) {
	crowd := func(make func(key, n int) write) (all writes) {
		for n := range 4000 {
			all = append(all, make(n%20, n))
		}
		return all
	}
	item := func(key, _ int) write { return write{key: fmt.Sprintf("C#%d#0", key), at: 1} }
	for name, c := range map[string]struct {
		topK   int
		writes writes
		want   []float64
	}{
		"crowded":      {10, slices.Repeat(crowd(item), 2), []float64{1}},
		"all keys fit": {20, slices.Repeat(crowd(item), 2), nil},
		"not so heavy": {10, crowd(item)[:1000], nil},
		"hot for sure": {10, repeat("C#a#0", 5000, 1), nil},
		"of an index":  {10, crowd(func(key, _ int) write { return scored("b", "all", "p", 1, key, (key+1)%20) }), []float64{1}},
	} {
		s := settings()
		s.TopK = c.topK
		f := newFixture(s)
		f.must(t, batch{writes: c.writes, first: 1, final: true}.payload())
		if got := f.values("UncertainWindows")["hotshard-items"]; !slices.Equal(got, c.want) || strings.Contains(f.logs.String(), "hot keys may be hidden") != (c.want != nil) {
			t.Errorf("%s: UncertainWindows %v, want %v\n%s", name, got, c.want, f.logs)
		}
	}
}

// TestMetricNames checks that with hashed or no names, a key's name is in neither metrics nor logs. The hash is
// that of [display.Pseudonym].
func TestMetricNames(t *testing.T) {
	for naming, want := range map[display.Style]map[string][]float64{
		display.Hashed: {"hotshard-items " + display.Pseudonym("C#secret"): {75}}, display.Unnamed: {},
	} {
		s := settings()
		s.MetricNames = naming
		f := newFixture(s)
		f.must(t, batch{writes: repeat("C#secret#0", 750, 1), first: 1, final: true}.payload())
		if diff := cmp.Diff(want, f.values("KeyWriteUnitsPerSecond")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", naming, diff)
		}
		if logs := f.logs.String(); strings.Contains(logs, "secret") || !strings.Contains(logs, "hot key") || !strings.Contains(logs, "shard count changed") {
			t.Errorf("%s: want a hot key, a change and no secret in the logs:\n%s", naming, logs)
		}
	}
}
