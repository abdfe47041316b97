// Package require has what tests of every package require: preparation without an error, an engine or a browser, the
// policies of the docs, and what each run of the tests asks of them:
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
//	for seed := range require.Runs(3, 50) {
//		...
//	}
//
// It imports the standard library only, since most test programs have it.
package require

// T is a *testing.T, *testing.B, *testing.F or *rapid.T.
type T interface {
	Helper()
	Fatal(...any)
}

// NoError ends the test with err unless it is nil.
func NoError(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
