// Package lane tells a test which of the runs of the tests it is part of:
//
//	go test -short ./...           without an engine, within half a minute
//	make test                      every kind of promise, against DynamoDB Local
//	HOTSHARD_TESTS=full make test  the same in larger worlds, as .ci/run does
//	make test-storms               storms, one at a time: they need the whole machine
//	make test-long                 all with the race detector, more seeds, longer faults
//
// A test of the long run alone is in a file with the build tag long; a storm's tag is storm. A
// test that repeats itself calls [Runs] for the number of repetitions:
//
//	for seed := range lane.Runs(3, 50) {
//		...
//	}
package lane

import (
	"flag"
	"os"
	"strconv"
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
)

// Full reports whether this is the full or the long run. Tests call it, and no variable's initialization: go test's cache
// knows only variables of the environment that are read while tests run.
func Full() bool { return Long || os.Getenv("HOTSHARD_TESTS") == "full" }

// UnlessQuick returns usual in the full and in the long run, and else quick.
func UnlessQuick(usual, quick int) int {
	if Full() {
		return usual
	}
	return quick
}

// Runs returns how often a test repeats itself with other seeds: few times, or many in the long
// run.
func Runs(few, many int) int {
	if Long {
		return many
	}
	return few
}

// UnlessShort returns usual, or short in a run with -short.
func UnlessShort(usual, short int) int {
	if testing.Short() {
		return short
	}
	return usual
}

// NeedsEngine skips a test in a run with -short.
func NeedsEngine(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs DynamoDB Local, which -short excludes")
	}
}

// NeedsBrowser skips a test in a run with -short, or with HOTSHARD_BROWSER=none. `make test`
// sets and announces the latter if no browser works.
func NeedsBrowser(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a browser, which -short excludes")
	}
	if os.Getenv("HOTSHARD_BROWSER") == "none" {
		t.Skip("needs a browser, which HOTSHARD_BROWSER=none excludes")
	}
}

// Checks limits a rapid property test to few inputs. The long run has rapid's default, and
// -rapid.checks overrides both.
func Checks(t testing.TB, few int) {
	t.Helper()
	if Long {
		return
	}
	checks := flag.Lookup("rapid.checks")
	before := checks.Value.String()
	if before != checks.DefValue {
		return // set on the command line
	}
	set := func(value string) {
		require.NoError(t, checks.Value.Set(value))
	}
	set(strconv.Itoa(few))
	t.Cleanup(func() { set(before) })
}
