package events_test

import (
	"errors"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestMaxAheadIsThatOfShardMap checks that events may be as far ahead as the shard map's options allow, and no further.
func TestMaxAheadIsThatOfShardMap(t *testing.T) {
	now := time.UnixMilli(1_763_808_123_251)
	for ahead, want := range map[time.Duration]time.Duration{0: shardmap.MaxAhead, 4 * time.Second: 4 * time.Second, time.Hour: shardmap.MaxEventAhead} {
		view := shardmap.New(enginetest.NewMapTable(10, 0, 0), "m", shardmap.Options{EventAhead: ahead})
		writer := events.NewWriter(nil, "t", view, events.Options{})
		_, fits := writer.PutTransact(t.Context(), events.Event{Entity: "e", ID: "x", Time: now.Add(want)}, now)
		_, beyond := writer.PutTransact(t.Context(), events.Event{Entity: "e", ID: "x", Time: now.Add(want + 1)}, now)
		if fits != nil || !errors.Is(beyond, shard.ErrMisused) {
			t.Errorf("EventAhead %v: error %v at %v ahead, and %v beyond it; want nil and ErrMisused", ahead, fits, want, beyond)
		}
	}
}
