package query

import (
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// TestAnotherStepNeedsAFullAnswer checks that a poll gets the full answer if its step, given or by default, is not the
// layout's.
func TestAnotherStepNeedsAFullAnswer(t *testing.T) {
	from := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	var source liveHeat
	for at := from; at.Before(from.Add(time.Hour)); at = at.Add(10 * time.Second) {
		source = append(source, heat.Item{Start: at, Window: 10 * time.Second, Limit: 1000, HotRate: 700, Units: 3, Keys: []heat.Key{{Key: "C#a#0", Units: 3}}})
	}
	now := from.Add(40*time.Minute - 15*time.Second)
	handler := heatHandler(source, nil, &now)
	after := from.Add(39*time.Minute + 30*time.Second).Format(time.RFC3339)
	read := func(more string) (m struct {
		Layout, Step string
		Delta        bool
	}) {
		t.Helper()
		mustGet(t, handler, "/v1/heat?from="+from.Format(time.RFC3339)+more, &m)
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
			t.Errorf("after %s%s: delta %v of step %s, want delta %v", poll.wait, poll.step, m.Delta, m.Step, poll.delta)
		}
	}
}
