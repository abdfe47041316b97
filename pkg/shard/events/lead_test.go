package events_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
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

// TestNamedEventsWaitForTheLead checks that an event with an id of the caller's is placed by the count at its time, and a new
// one by that of a pending growth. Only events with a retention expire.
func TestNamedEventsWaitForTheLead(t *testing.T) {
	now := libtest.Later
	view := libtest.MapOf("E#e", fmt.Sprintf("%d:24", now.Add(5*time.Second).Unix()))
	for isNew, want := range map[bool]int{false: 0, true: shard.Calculated("x", 24)} {
		for _, retention := range []time.Duration{0, time.Hour} {
			writer := events.NewWriter(nil, "t", view, events.Options{Retention: retention})
			w, err := writer.PutTransact(t.Context(), events.Event{Entity: "e", ID: "x", Time: now, New: isNew}, now)
			if err != nil || !strings.HasSuffix(libtest.Text(w.Action.Put.Item["pk"]), fmt.Sprint("#", want)) || (w.Action.Put.Item["expires_at"] != nil) != (retention > 0) {
				t.Errorf("new %t, retention %v: %v, %v; want write shard %d", isNew, retention, w.Action.Put, err, want)
			}
		}
	}
	if shard.Calculated("x", 24) == 0 {
		t.Error("the event has write shard 0 at both counts")
	}
}
