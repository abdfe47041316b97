package fold

import (
	"testing"
	"time"
)

// reached returns a board of 20 players, of which the top has 7. Both containers have cached the top's reach, and
// count their reads of the top.
func reached(t *testing.T) (a *arena, one, other *Handler) {
	t.Helper()
	a = calm(t, 20)
	a.rest()
	one, other = a.containers[0], a.containers[1]
	for _, h := range a.containers {
		h.tops.client = a.counting(a.db)
		a.score1("p19", -190)
		a.by(h)
	}
	a.loads = 0
	return a, one, other
}

// by delivers the remaining records to one container.
func (a *arena) by(h *Handler) {
	before := a.containers
	a.containers = [2]*Handler{h, h}
	a.fold()
	a.containers = before
}

// TestScoresBeyondTheTopReadNone checks that a fold does not read the top if the places lie beyond its cached
// reach. A reach is cached for 10 s.
func TestScoresBeyondTheTopReadNone(t *testing.T) {
	a, one, _ := reached(t)
	for _, step := range []struct {
		player string
		points int
		wait   time.Duration
		loads  int
	}{
		{"p19", -191, 0, 0}, {"p18", -100, 0, 0},
		{"p18", -30, 0, 1}, {"p18", -180, 0, 1}, // into the reach and out of it
		{"p19", -192, 0, 0}, {"p19", -193, maxReachAge + time.Second, 1},
		{"p19", -194, -2 * time.Second, 1}, // a clock that was set back
	} {
		a.loads = 0
		a.pass(step.wait)
		a.score1(step.player, step.points)
		a.by(one)
		if a.loads != step.loads {
			t.Errorf("%+v: %d reads of the top, want %d", step, a.loads, step.loads)
		}
	}
	a.rest()
	a.compare()
}
