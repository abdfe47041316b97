package rebuild

import (
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/fold/parts"
)

// TestOrderIsNoDifference adds the same events to fragments in two orders and splits. Some have more
// fields than a fragment keeps, or numbers that it skips. The sums are equal, also after a repair.
func TestOrderIsNoDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fields := rapid.SampledFrom([]int{1, parts.MaxMeasures - 1, parts.MaxMeasures, parts.MaxMeasures + 1, 3 * parts.MaxMeasures}).Draw(t, "fields")
		var list []map[string]string
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			numbers := map[string]string{}
			for range rapid.IntRange(0, 4).Draw(t, "numbers") {
				field := fmt.Sprintf("f%02d", rapid.IntRange(0, fields-1).Draw(t, "field"))
				numbers[field] = rapid.SampledFrom([]string{"1", "-2.5", "1e15", "0.1234567890123456"}).Draw(t, "number")
			}
			list = append(list, numbers)
		}
		split := func(order []map[string]string) (sum parts.Rollup) {
			var stored [3]parts.Rollup
			for i := range stored {
				stored[i] = parts.Rollup{}.Clone()
			}
			for _, numbers := range order {
				stored[rapid.IntRange(0, 2).Draw(t, "part")].Add(numbers)
			}
			for _, p := range stored {
				sum.Merge(p)
			}
			return sum
		}
		e := &storedEvents{sum: split(list)}
		rollup := split(rapid.Permutation(list).Draw(t, "order"))
		if !equal(rollup, e.sum) {
			t.Fatalf("%+v and %+v differ", rollup, e.sum)
		}
		total := e.repairedRollup(rollup)
		seen := 0
		for field := range rollup.Measures {
			if e.sum.Measures[field].N == 0 {
				continue
			}
			if seen++; total.Measures[field].N == 0 {
				t.Fatalf("%s is no longer in %+v", field, total)
			}
		}
		if want := min(len(e.sum.Measures), max(parts.MaxMeasures, seen)); len(total.Measures) != want {
			t.Fatalf("%d fields, want %d", len(total.Measures), want)
		}
		if !equal(total, e.sum) || !equal(total, rollup) && !mayLackFields(rollup) {
			t.Fatalf("the total of %+v is %+v", e.sum, total)
		}
		wantDifferent(t, rollup, e.sum)
	})
}

// wantDifferent checks that each change of a rollup is a difference.
func wantDifferent(t *rapid.T, rollup, events parts.Rollup) {
	changed := rollup.Clone()
	changed.Events++
	if equal(changed, events) {
		t.Fatal("one more event is no difference")
	}
	changed = rollup.Clone()
	changed.Skipped++
	if equal(changed, events) {
		t.Fatal("one more skipped number is no difference")
	}
	for field, m := range rollup.Measures {
		changed = rollup.Clone()
		m.N++
		changed.Measures = maps.Clone(rollup.Measures)
		changed.Measures[field] = m
		if equal(changed, events) {
			t.Fatalf("one more number in %s is no difference", field)
		}
	}
}
