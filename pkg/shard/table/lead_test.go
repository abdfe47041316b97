package table

import (
	"testing"
	"time"

	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestAheadComesFromMap checks that wrapped counts allow times as far ahead as the map's options do.
func TestAheadComesFromMap(t *testing.T) {
	for ahead, want := range map[time.Duration]time.Duration{0: shardmap.MaxAhead, 4 * time.Second: 4 * time.Second, time.Hour: shardmap.MaxEventAhead} {
		view := shardmap.New(nil, "m", shardmap.Options{EventAhead: ahead})
		changer := shardmap.NewChanger(nil, view, shardmap.ChangerOptions{})
		for _, counts := range []Counts{view, changer, AtLeast{2, changer}} {
			if got := maxAhead(counts); got != want {
				t.Errorf("%v, %T: %v ahead, want %v", ahead, counts, got, want)
			}
		}
	}
}
