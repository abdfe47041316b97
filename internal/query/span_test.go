package query

import (
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/test/require"
)

// TestDefaultRanges checks that without from, ranges of events and rollups begin 30 days before now, or before an earlier
// to, at any hour.
func TestDefaultRanges(t *testing.T) {
	events, rollups := &eventReader{span: 720 * time.Hour}, &rollupReader{span: 720 * time.Hour}
	midnight := time.Date(2028, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, now := range []time.Time{midnight, midnight.Add(30 * time.Second), midnight.Add(time.Hour), midnight.Add(-2 * time.Minute), midnight.Add(-30 * time.Second)} {
		for _, to := range []time.Time{{}, now.Add(time.Hour), now.Add(30 * time.Second), now, now.Add(-90 * time.Minute), midnight.Add(-240 * time.Hour)} {
			end := now
			if !to.IsZero() {
				end = earlier(to, now)
			}
			want := end.Add(-720 * time.Hour)
			r, err := events.rangeOf(&eventsInput{To: httpapi.Time{Time: to}}, now)
			if err != nil || !r.From.Equal(want) {
				t.Errorf("events at %s to %s: from %s, %v; want %s", now, to, r.From, err, want)
			}
			for text, every := range map[string]time.Duration{"1h": time.Hour, "8h": 8 * time.Hour, "1d": oneDay} {
				span, err := rollups.rangeOf(&rollupsInput{To: httpapi.Time{Time: to}, Every: text}, now)
				require.NoError(t, err)
				if !span.from.Equal(want.Truncate(every)) || span.to.Before(end) {
					t.Errorf("rollups by %s at %s to %s: %s to %s; want from %s", text, now, to, span.from, span.to, want.Truncate(every))
				}
			}
		}
	}
}

// TestDefaultRangeOfManyBuckets checks that the default range has no more rollups than a response may have.
func TestDefaultRangeOfManyBuckets(t *testing.T) {
	rollups := &rollupReader{span: 90 * oneDay}
	now := time.Date(2027, 1, 1, 0, 0, 30, 0, time.UTC)
	span, err := rollups.rangeOf(&rollupsInput{Every: "1h"}, now)
	if err != nil || span.to.Sub(span.from) != maxBuckets*time.Hour || !span.to.After(now) {
		t.Errorf("the default range of 90 days is %+v, %v; want %d hours", span, err, maxBuckets)
	}
}

// TestTheZeroTimeIsATime checks that Go's zero time as from or to is not taken for an absent parameter.
func TestTheZeroTimeIsATime(t *testing.T) {
	now := time.Date(2028, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, text := range []string{"0001-01-01T00:00:00Z", "0001-01-01T01:00:00+01:00"} {
		var zero httpapi.Time
		require.NoError(t, zero.UnmarshalText([]byte(text)))
		reader := &eventReader{span: 720 * time.Hour}
		from, err1 := reader.rangeOf(&eventsInput{From: zero}, now)
		to, err2 := reader.rangeOf(&eventsInput{To: zero}, now)
		if err1 != nil || err2 != nil || !from.From.Equal(epoch) || !from.To.Equal(now.Add(maxAhead)) || !to.To.Equal(epoch) {
			t.Errorf("%s: events from it %+v, %v; to it %+v, %v", text, from, err1, to, err2)
		}
		rollups := &rollupReader{span: 720 * time.Hour}
		if span, err := rollups.rangeOf(&rollupsInput{From: zero, Every: "1h"}, now); err == nil {
			t.Errorf("%s: rollups from it from %s", text, span.from)
		}
		if span, err := rollups.rangeOf(&rollupsInput{To: zero, Every: "1h"}, now); err != nil || !span.to.Equal(epoch) {
			t.Errorf("%s: rollups to it: %+v, %v", text, span, err)
		}
		if _, err := (&heatInput{From: zero}).options(now); err == nil {
			t.Errorf("%s: heat from it", text)
		}
		if o, err := (&heatInput{To: zero}).options(now); err != nil || !o.To.IsZero() {
			t.Errorf("%s: heat to it: %+v, %v", text, o, err)
		}
	}
}
