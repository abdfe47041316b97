package fold

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/lane"
)

// reached returns a board of 20 players, of which the top has 7. Both containers have cached the top's reach, and
// count their reads of the top.
func reached(t *testing.T) (a *arena, one, other *Handler) {
	t.Helper()
	a = calm(t, 20)
	a.rest()
	one, other = a.containers[0], a.containers[1]
	for _, h := range a.containers {
		h.tops.client = a.racing(a.db)
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

// holds reports whether the stored top has a player.
func (a *arena) holds(player string) bool {
	return slices.ContainsFunc(a.top().Entries(), func(e board.Entry) bool { return e.Player == player })
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

// TestFallOfAnotherContainersPlayer checks that a record whose new place lies beyond the cached reach removes a
// player whom another container has entered.
func TestFallOfAnotherContainersPlayer(t *testing.T) {
	a, one, other := reached(t)
	a.score1("p19", 5)
	a.by(other)
	if a.first() != "p19" {
		t.Fatalf("the first is %q; the test wants p19", a.first())
	}
	a.score1("p19", -200)
	a.by(one)
	if a.holds("p19") {
		t.Error("the top still has p19, who fell to the last place")
	}
	a.compare()
}

// TestReachWidenedByAnotherContainer checks that a recheck moves a player whom another container has read from
// the index. The first container's cached reach lacks the player, so the top has the old place until then.
func TestReachWidenedByAnotherContainer(t *testing.T) {
	a, one, other := reached(t)
	a.leave("p0", "p1", "p2", "p3")
	a.by(other)
	if !a.holds("p8") || a.noted() != 1 {
		t.Fatalf("held: %+v, %d notes; the test wants p8, and one", a.top().Entries(), a.noted())
	}
	a.loads = 0
	a.score1("p8", -200)
	a.by(one)
	if a.loads > 0 || !a.holds("p8") {
		t.Fatalf("%d reads; held: %+v; the test wants none, and p8", a.loads, a.top().Entries())
	}
	a.rest()
	a.compare()
}

// TestCachedReaches plays boards with most scores beyond the top. There are redelivery, unknown outcomes, a
// lagging index, concurrent folds, and raids that widen the top. At rest the boards are exact.
func TestCachedReaches(t *testing.T) {
	db := enginetest.Client(t)
	names := enginetest.Tables(t, db)
	loads, deliveries := 0, 0
	for seed := range lane.Runs(3, 200) {
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(uint64(seed), 7))
		a := newArena(t, db, names, random, seed)
		a.size, a.players, a.lags, a.races = 1+random.IntN(3), 40, random.IntN(2) == 0, 8
		client := a.racing(unreliable(db, random, 6))
		for _, h := range a.containers {
			h.tops.client, h.cells = client, newCellsFolder(client, Settings{RollupsTable: h.table}, h.now)
		}
		a.fill()
		for range 120 {
			switch roll := random.IntN(20); {
			case roll == 0:
				a.raid()
			case roll == 1:
				a.pass(time.Duration(random.IntN(15)) * time.Second)
				a.task()
			case roll < 7:
				a.write()
			default:
				a.turn()
			}
		}
		a.rest()
		a.compare()
		loads, deliveries = loads+a.loads, deliveries+a.deliveries
	}
	t.Logf("%d reads of tops by %d deliveries", loads, deliveries)
	if loads >= deliveries {
		t.Errorf("%d deliveries read the top %d times: none used a cached reach", deliveries, loads)
	}
}
