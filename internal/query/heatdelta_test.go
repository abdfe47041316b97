package query

import (
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/httpapi"
)

// TestAnotherStepNeedsAFullAnswer checks that a poll gets no delta when the default step has become longer than the layout's.
func TestAnotherStepNeedsAFullAnswer(t *testing.T) {
	from := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	var source liveHeat
	for at := from; at.Before(from.Add(time.Hour)); at = at.Add(10 * time.Second) {
		source = append(source, heat.Item{Start: at, Window: 10 * time.Second, Limit: 1000, HotRate: 700, Units: 3, Keys: []heat.Key{{Key: "C#a#0", Units: 3}}})
	}
	now := from.Add(40*time.Minute - 15*time.Second)
	handler := httpapi.New(slog.New(slog.DiscardHandler), HeatRoutes(NewHeat(source, HeatOptions{Deadline: time.Minute, Now: func() time.Time { return now }})))
	after := from.Add(39*time.Minute + 30*time.Second).Format(time.RFC3339)
	type answer struct {
		Layout, Step string
		Delta        bool
	}
	read := func(more string) (m answer) {
		t.Helper()
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), "GET", "/v1/heat?from="+from.Format(time.RFC3339)+more, nil))
		if err := json.Unmarshal(recorder.Body.Bytes(), &m); err != nil || recorder.Code != 200 {
			t.Fatalf("%d %s", recorder.Code, recorder.Body)
		}
		return m
	}
	layout, made := read("").Layout, now
	for _, poll := range []struct {
		wait  time.Duration
		step  string
		delta bool
	}{
		{5 * time.Second, "", true},
		{5 * time.Second, "&step=10s", true},
		{5 * time.Second, "&step=20s", false},
		{20 * time.Second, "", false},
		{20 * time.Second, "&step=10s", true},
	} {
		now = made.Add(poll.wait)
		if m := read(poll.step + "&layout=" + layout + "&after=" + after); m.Delta != poll.delta {
			t.Errorf("after %s%s: delta %v of step %s", poll.wait, poll.step, m.Delta, m.Step)
		}
	}
}
