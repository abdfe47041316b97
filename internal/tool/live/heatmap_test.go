package live

import (
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/query"
)

// TestHeatMapCountsUnitsOnce checks that no column adds a folded window to the 10 s windows that it was folded from.
func TestHeatMapCountsUnitsOnce(t *testing.T) {
	begin := time.Date(2026, 1, 5, 11, 0, 0, 0, time.UTC)
	now := time.Date(2026, 1, 5, 12, 14, 23, 0, time.UTC)
	w := newWindows(heat.Item{}, false)
	for at := begin; !at.Add(Window).After(now); at = at.Add(Window) {
		w.history.addWindow(heat.Window{Start: at, Items: []heat.Item{{
			Start: at, Window: Window, StreamShard: "s", Limit: 1000, HotRate: 700, Records: 7, Units: 7,
			Keys: []heat.Key{{Key: "k", Units: 5}},
		}}})
	}
	source := query.NewHeat(&Reader{windows: w}, query.HeatOptions{Deadline: time.Minute, Now: func() time.Time { return now }})
	handler := httpapi.New(slog.New(slog.DiscardHandler), query.HeatRoutes(source))
	for _, step := range []time.Duration{10 * time.Second, 20 * time.Second, time.Minute, 5 * time.Minute, 10 * time.Minute} {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), "GET", "/v1/heat?from=2026-01-05T11:20:00Z&to=2026-01-05T12:30:00Z&step="+step.String(), nil))
		var m struct {
			Rows        []struct{ Units []uint64 }
			Rest, Total []uint64
		}
		if err := json.Unmarshal(recorder.Body.Bytes(), &m); err != nil || recorder.Code != 200 || len(m.Rows) != 1 {
			t.Fatalf("%d %s", recorder.Code, recorder.Body)
		}
		for i := range int(now.Sub(begin.Add(20*time.Minute)) / step) { // columns that have ended
			if n := uint64(step / Window); m.Total[i] != 7*n || m.Rest[i] != 2*n || m.Rows[0].Units[i] != 5*n {
				t.Errorf("step %s, column %d: total %d, rest %d, units %d; want 7, 2 and 5 for each of %d windows", step, i, m.Total[i], m.Rest[i], m.Rows[0].Units[i], n)
			}
		}
	}
}
