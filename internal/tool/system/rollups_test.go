package system

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/enginetest"
)

// TestEventsRollUp checks that events which are sent more than once are counted once in their rollups.
func TestEventsRollUp(t *testing.T) {
	s, stop := start(t)
	defer stop()
	hour := enginetest.Yesterday()
	var events []string
	for i := range 40 {
		at := hour.Add(time.Duration(i%2) * time.Hour).Add(time.Duration(i) * time.Second)
		events = append(events, fmt.Sprintf(`{"entity":"room/1","id":"%d","time":%q,"data":{"temperature":%d.25}}`, i, at.Format(time.RFC3339), i))
	}
	for _, batch := range [][]string{events[:30], events[20:], events} {
		if status, text := send(t, "POST", s.URL()+"/v1/events", `{"events":[`+strings.Join(batch, ",")+`]}`); status != 200 {
			t.Fatalf("POST /v1/events: %d %s", status, text)
		}
	}
	type measure struct{ Sum, Min, Max, Avg float64 }
	var answer struct {
		Rollups []struct {
			Start    time.Time
			Count    int
			Restated bool
			Measures map[string]measure
		}
	}
	eventually(t, func() bool {
		get(t, s.URL()+"/v1/rollups?entity=room%2F1&every=1h", &answer)
		return len(answer.Rollups) == 2 && answer.Rollups[0].Count+answer.Rollups[1].Count == 40
	})
	want := []measure{{385, 0.25, 38.25, 19.25}, {405, 1.25, 39.25, 20.25}}
	for i, b := range answer.Rollups {
		if !b.Start.Equal(hour.Add(time.Duration(i)*time.Hour)) || b.Count != 20 || b.Restated || b.Measures["temperature"] != want[i] {
			t.Errorf("hour %d: %+v, want 20 events with %+v", i, b, want[i])
		}
	}
}
