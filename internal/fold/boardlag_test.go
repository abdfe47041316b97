package fold

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// staleArena returns a board of size 1, and an index that misses all later writes. The top holds the first of
// the players, each of whom has 10 points more than the next.
func staleArena(t *testing.T, players, held int) *arena {
	t.Helper()
	db := enginetest.Client(t)
	a := newArena(t, db, enginetest.Tables(t, db), rand.New(rand.NewPCG(1, 1)), 1)
	a.size, a.lags = 1, true
	for _, h := range a.containers {
		h.tops.hold = func(int) int { return held }
	}
	for i := range players {
		a.score1(fmt.Sprint("p", i), -10*i)
	}
	a.fold()
	for player, s := range a.index {
		*s = seen{place: a.entries[player].Place, shown: true}
	}
	a.frozen = true
	return a
}

// score1 writes a player's score. On a board where less is better, it writes its negative.
func (a *arena) score1(player string, points int) {
	if a.lowest {
		points = -points
	}
	s, err := boards.ParseScore(fmt.Sprint(points))
	if err != nil {
		a.t.Fatal(err)
	}
	old := a.entries[player]
	a.put(parts.EntryState{Place: boards.Place{Player: player, Score: s, At: time.UnixMilli(a.clock.UnixMilli()).UTC(), Lowest: a.lowest}, Rev: old.Rev + 1, Present: true})
}

// leave removes players.
func (a *arena) leave(players ...string) {
	for _, player := range players {
		s := a.entries[player]
		s.Present = false
		a.put(s)
	}
}

// fold delivers the remaining records.
func (a *arena) fold() {
	for i := range a.streams {
		for a.done[i] < len(a.streams[i]) {
			a.deliver(i, a.done[i], len(a.streams[i]))
		}
	}
}

func (a *arena) first() string {
	if e := a.top().Entries(); len(e) > 0 {
		return e[0].Player
	}
	return ""
}

// TestNoteOutlivesAnEarlyRecheck checks that a recheck keeps a note if the index was read too recently. The
// read came after the note, and less than the recheck age ago.
func TestNoteOutlivesAnEarlyRecheck(t *testing.T) {
	a := staleArena(t, 80, 3)
	a.leave("p0", "p1", "p2")
	a.fold() // the top has p3, p4, p5
	a.clock = a.clock.Add(recheck - 5*time.Second)
	for _, s := range a.index {
		s.shown = s.shown && a.entries[s.place.Player].Present
	}
	a.score1("p79", -55)
	a.fold()
	a.leave("p3", "p4", "p5")
	a.fold() // the top has p6 and p7 from the index, where p79 is still last
	a.clock = a.clock.Add(6 * time.Second)
	if got := a.task(); got != `{"looked":2,"failed":0,"later":0,"moved":0}` {
		t.Errorf("the early recheck: %s, want both notes done", got)
	}
	a.frozen = false
	a.clock = a.clock.Add(recheck + time.Second)
	if a.task(); a.first() != "p79" {
		t.Errorf("the first is %q, want p79", a.first())
	}
	a.rest()
	a.compare()
}

// TestIndexFullOfRemovedPlayers checks that a recheck keeps its note if the index still has more removed players
// than the recheck reads.
func TestIndexFullOfRemovedPlayers(t *testing.T) {
	const removed = spare + 30
	a := staleArena(t, removed+20, 20)
	a.score1(fmt.Sprint("p", removed+19), -10*removed-5)
	a.fold()
	for i := range removed {
		a.leave(fmt.Sprint("p", i))
	}
	a.fold()
	if want := fmt.Sprint("p", removed); a.first() != want {
		t.Fatalf("the first is %q; the test wants %s", a.first(), want)
	}
	for i := range 3 {
		a.clock = a.clock.Add(recheck + time.Second)
		notes := []int{2, 1, 1}[i] // the sum's note is gone after its refresh
		if got := a.task(); got != fmt.Sprintf(`{"looked":%d,"failed":0,"later":0,"moved":0}`, notes) {
			t.Errorf("the task answered %s, want %d looked", got, notes)
		}
	}
	a.frozen = false
	a.rest()
	a.compare()
}
