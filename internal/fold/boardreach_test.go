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

// reached is a board of 20 players, of which the top holds 7. Both containers have cached its reach, and count
// their reads of it.
func reached(t *testing.T) (a *arena, one, other *Handler) {
	t.Helper()
	a = calm(t, 20)
	a.rest()
	one, other = a.containers[0], a.containers[1]
	for _, h := range a.containers {
		h.tops.client = &races{a.db, a}
		a.score1("p19", -190)
		a.by(h)
	}
	a.loads = 0
	return a, one, other
}

// by has one container deliver what there is.
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

// TestScoresBeyondTheTopReadNone checks that a fold reads the top only if a place lies within a reach that was
// cached at most 10 s ago.
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
			t.Errorf("%+v: %d reads of the top", step, a.loads)
		}
	}
	a.rest()
	a.compare()
}

// TestAPlayerWhomAnotherContainerLetIn falls by a record whose new place lies beyond the cached reach.
func TestAPlayerWhomAnotherContainerLetIn(t *testing.T) {
	a, one, other := reached(t)
	a.score1("p19", 5)
	a.by(other)
	if a.first() != "p19" {
		t.Fatalf("the first is %q; the test wants p19", a.first())
	}
	a.score1("p19", -200)
	a.by(one)
	if a.holds("p19") {
		t.Error("the top still has p19")
	}
	a.compare()
}

// TestAReachThatGrewElsewhere: one container's cached reach lacks a player whom another's fold read from the
// index. Until the recheck the top has the player at the old place.
func TestAReachThatGrewElsewhere(t *testing.T) {
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

// TestCachedReaches plays boards most of whose scores lie beyond the top, with redelivery, lost answers, an index
// that lags, two containers that intervene in each other's folds, and raids that make the top reach farther.
func TestCachedReaches(t *testing.T) {
	db := enginetest.Client(t)
	names := enginetest.Tables(t, db)
	loads, deliveries := 0, 0
	for seed := range lane.Runs(6, 200) {
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(uint64(seed), 7))
		a := newArena(t, db, names, random, seed)
		a.size, a.players, a.lags, a.races = 1+random.IntN(3), 40, random.IntN(2) == 0, 8
		client := &races{&unreliable{Client: db, random: random, faults: 6}, a}
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
		t.Error("no delivery went by a cached reach")
	}
}
