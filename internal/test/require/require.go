// Package require ends a test whose preparation failed.
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
