package hotkey_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/heat"
)

// TestALimitAndAGroupGrowAheadOfThrottling, each by its type's share: a limit by the
// load of one of its windows.
func TestALimitAndAGroupGrowAheadOfThrottling(t *testing.T) {
	f := newFixture(settings())
	f.must(t, unwindowed(slices.Concat(
		repeat("R#k#60#1767571200#0", 750, 1), repeat("R#k#60#1767571260#0", 10, 2), repeat("S#g#0", 750, 1),
	), 1))
	slices.Sort(f.shards.changes)
	if want := []string{"R#k 1>3", "S#g 1>6"}; !slices.Equal(f.shards.changes, want) {
		t.Errorf("%v, want %v\n%s", f.shards.changes, want, f.logs)
	}
}

// TestSightingsOfALimit are put down to the window that took most, and make the limit
// grow to what was offered.
func TestSightingsOfALimit(t *testing.T) {
	f := newFixture(settings())
	deliver(t, f, slices.Concat(
		repeat("R#a#1#60#1767571200#0", 500, 1), repeat("R#a#1#3600#1767571200#0", 40, 1), repeat("R#a#1", 600, 1), // that is no write shard of anything
		writes{seen("R#a#1", 1.2, "w", 200, 0, 3), seen("R#unseen", 1.2, "w", 90, 0, 1)},
	), 100)
	var got []string
	for _, row := range f.rows(t) {
		if row.Status == heat.Saturated {
			got = append(got, fmt.Sprint(row.Key))
		}
	}
	if diff := cmp.Diff([]string{"R#a#1#60#1767571200#0", "R#unseen#0"}, got); diff != "" {
		t.Errorf("saturated: want -, got +\n%s", diff)
	}
	slices.Sort(f.shards.changes)
	if want := []string{"R#a#1 1>20", "R#unseen 1>4"}; !slices.Equal(f.shards.changes, want) {
		t.Errorf("%v, want %v\n%s", f.shards.changes, want, f.logs)
	}
}
