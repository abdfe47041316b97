package table_test

import (
	"flag"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/libtest"
)

// fewer sets the number of rapid's checks for a test on the engine, unless the command line sets it.
func fewer(t *testing.T, checks int) {
	f := flag.Lookup("rapid.checks")
	if f.Value.String() != f.DefValue {
		return
	}
	if err := f.Value.Set(strconv.Itoa(checks)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Value.Set(f.DefValue) })
}

// sortText returns an item's sort key as text.
func sortText(m made) string { return libtest.Text(m.item["placed"]) }

// sorted returns the distinct partition keys of some calls.
func sorted(calls []string) []string {
	keys := map[string]bool{}
	for _, call := range calls {
		_, key, _ := strings.Cut(call, " ")
		keys[key] = true
	}
	return slices.Sorted(maps.Keys(keys))
}
