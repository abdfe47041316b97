package ingest

import (
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/httpapi"
)

// TestEventsAhead checks that no event's time is more than EventAhead ahead, and that errors name invalid settings.
func TestEventsAhead(t *testing.T) {
	now := time.UnixMilli(1_763_808_123_250)
	for _, ahead := range []time.Duration{2 * time.Second, 3500 * time.Millisecond} {
		for after, fits := range map[time.Duration]bool{0: true, ahead: true, ahead + time.Millisecond: false} {
			at := httpapi.Time{Time: now.Add(after)}
			_, fault := newEvent{Entity: "e", ID: "x", Time: &at}.parse(now, ahead)
			if (fault == nil) != fits || !fits && (fault.Location != "time" || !strings.Contains(fault.Message, ahead.String())) {
				t.Errorf("%v ahead of at most %v: %+v, want accepted %t", after, ahead, fault, fits)
			}
		}
	}
	for _, bad := range []Settings{
		{EventAhead: 9 * time.Second, ViewAge: 6 * time.Second}, {EventAhead: -1, ViewAge: -1},
		{}, // the shard map would replace zeros by its defaults
	} {
		err := bad.Validate()
		for _, name := range []string{"HOTSHARD_EVENT_AHEAD", "HOTSHARD_VIEW_AGE"} {
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%+v: %v, want an error with %s", bad, err, name)
			}
		}
	}
}
