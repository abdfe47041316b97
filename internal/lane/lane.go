// Package lane tells tests which of the runs of the tests they are part of:
//
//	go test -short ./...    without an engine, within half a minute
//	make test               every kind of promise, against DynamoDB Local
//	make test-long          the same with the race detector, more seeds, longer faults
//
// A test that belongs to the long run alone is in a file with the build tag long. One that
// repeats itself asks [Runs] how often:
//
//	for seed := range lane.Runs(3, 50) {
//		...
//	}
package lane

import (
	"flag"
	"strconv"
	"testing"
)

// Runs is how often a test repeats what it does with another seed: few times, and many in
// the long run.
func Runs(few, many int) int {
	if Long {
		return many
	}
	return few
}

// NeedsEngine leaves a test out of a run with -short.
func NeedsEngine(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("it needs DynamoDB Local, which -short does without")
	}
}

// Checks has a property test of rapid's try few inputs, and in the long run as many as
// it does by itself, or as -rapid.checks says.
func Checks(t testing.TB, few int) {
	t.Helper()
	if Long {
		return
	}
	checks := flag.Lookup("rapid.checks")
	before := checks.Value.String()
	if before != checks.DefValue {
		return // somebody asked for so many
	}
	set := func(value string) {
		if err := checks.Value.Set(value); err != nil {
			t.Fatal(err)
		}
	}
	set(strconv.Itoa(few))
	t.Cleanup(func() { set(before) })
}
