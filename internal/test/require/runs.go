package require

import (
	"flag"
	"os"
	"strconv"
	"testing"
	"time"
)

// FullRun reports whether this is the full or the long run. Tests call it, and no variable's initialization: go test's cache
// knows only variables of the environment that are read while tests run.
func FullRun() bool { return LongRun || os.Getenv("HOTSHARD_TESTS") == "full" }

// UnlessQuick returns usual in the full and in the long run, and else quick.
func UnlessQuick(usual, quick int) int {
	if FullRun() {
		return usual
	}
	return quick
}

// Runs returns how often a test repeats itself with other seeds: few times, or many in the long
// run.
func Runs(few, many int) int {
	if LongRun {
		return many
	}
	return few
}

// Seed returns the seed of a test's random choices, and logs it: HOTSHARD_SEED if it is set, else a new one.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("HOTSHARD_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("HOTSHARD_SEED: %v", err)
		}
	}
	t.Logf("HOTSHARD_SEED=%d repeats these random choices", seed)
	return seed
}

// UnlessShort returns usual, or short in a run with -short.
func UnlessShort(usual, short int) int {
	if testing.Short() {
		return short
	}
	return usual
}

// Engine skips a test in a run with -short.
func Engine(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs DynamoDB Local, which -short excludes")
	}
}

// Browser skips a test in a run with -short, or with HOTSHARD_BROWSER=none. `make test`
// sets and announces the latter if no browser works.
func Browser(t testing.TB) {
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
	if LongRun {
		return
	}
	checks := flag.Lookup("rapid.checks")
	before := checks.Value.String()
	if before != checks.DefValue {
		return // set on the command line
	}
	set := func(value string) {
		NoError(t, checks.Value.Set(value))
	}
	set(strconv.Itoa(few))
	t.Cleanup(func() { set(before) })
}
