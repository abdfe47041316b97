package events

import (
	"strconv"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
)

// TestEventsExpireSpreadOverLastDay checks that a day's events expire evenly over the last day of their retention. An event
// that is written again expires at the same second.
func TestEventsExpireSpreadOverLastDay(t *testing.T) {
	midnight := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	first := midnight.Add(24*time.Hour + 90*time.Minute)
	hours := map[int]int{}
	for i := range 24_000 {
		ev := Event{Entity: "e", ID: strconv.Itoa(i), Time: midnight.Add(time.Duration(i) * time.Second)}
		at := expiry(ev, midnight.Add(20*time.Hour), 90*time.Minute)
		if again := expiry(ev, midnight.Add(24*time.Hour-1), 90*time.Minute); !again.Equal(at) {
			t.Fatalf("%v expires at %v, and at %v if written again", ev, at, again)
		}
		if at.Before(first) || !at.Before(first.Add(24*time.Hour)) || at.Add(-schema.ExpirySpread(ev.ID)) != first {
			t.Fatalf("%v expires at %v, want within 24 h of %v", ev, at, first)
		}
		hours[int(at.Sub(first)/time.Hour)]++
	}
	for hour := range 24 {
		if n := hours[hour]; n < 850 || n > 1150 {
			t.Errorf("%d of 24,000 events expire in hour %d, want about 1,000", n, hour)
		}
	}
	late := Event{ID: "x", Time: midnight}
	if at := expiry(late, midnight.Add(50*time.Hour), time.Hour); at.Add(-schema.ExpirySpread("x")) != midnight.Add(73*time.Hour) {
		t.Errorf("an event that is two days old expires at %v", at)
	}
}
