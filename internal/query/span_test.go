package query

import (
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/httpapi"
)

// TestDefaultRanges: without from, events and rollups go back the same, from now or an
// earlier to, at any hour.
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
				span, err := rollups.spanOf(&rollupsInput{To: httpapi.Time{Time: to}, Every: text}, now)
				if err != nil {
					t.Fatal(err)
				}
				if !span.from.Equal(want.Truncate(every)) || span.to.Before(end) {
					t.Errorf("rollups by %s at %s to %s: %s to %s; want from %s", text, now, to, span.from, span.to, want.Truncate(every))
				}
			}
		}
	}
}

// TestDefaultRangeOfManyBuckets: with a longer span as many buckets are read as an answer
// may have.
func TestDefaultRangeOfManyBuckets(t *testing.T) {
	rollups := &rollupReader{span: 90 * oneDay}
	now := time.Date(2027, 1, 1, 0, 0, 30, 0, time.UTC)
	span, err := rollups.spanOf(&rollupsInput{Every: "1h"}, now)
	if err != nil || span.to.Sub(span.from) != maxBuckets*time.Hour || !span.to.After(now) {
		t.Errorf("%+v, %v", span, err)
	}
}
