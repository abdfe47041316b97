package hotkeys_test

import (
	"slices"
	"testing"
)

// TestALimitAndAGroupGrowAheadOfThrottling checks that each grows by its type's share: a limit by the load of one of
// its windows, a group by its sessions' load on the index.
func TestALimitAndAGroupGrowAheadOfThrottling(t *testing.T) {
	f := newFixture(settings())
	f.must(t, unwindowed(slices.Concat(
		repeat("R#k#60#1767571200#0", 750, 1), repeat("R#k#60#1767571260#0", 10, 2), renewals("g", 0, 750, 1),
	), 1))
	slices.Sort(f.shards.changes)
	if want := []string{"R#k 1>3", "S#g 1>6"}; !slices.Equal(f.shards.changes, want) {
		t.Errorf("%v, want %v\n%s", f.shards.changes, want, f.logs)
	}
}
