package watching

import (
	"testing"

	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestNobodyWatches: a nil Watcher is Unwatched.
func TestNobodyWatches(t *testing.T) {
	if w := Or(nil); w != (shardmap.Unwatched{}) {
		t.Errorf("%v", w)
	}
}
