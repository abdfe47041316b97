package watching

import "testing"

// TestNobodyWatches: a nil Watcher is nobody.
func TestNobodyWatches(t *testing.T) {
	if w := Or(nil); w != (nobody{}) {
		t.Errorf("%v", w)
	}
}
