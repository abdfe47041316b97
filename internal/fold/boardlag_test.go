package fold

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// staleArena is a board of size 1 whose top holds some of the players from p0 on,
// each 10 points before the next, and an index that knows them as they are and
// nothing that follows.
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

// score1 writes a player's score.
func (a *arena) score1(player string, points int) {
	s, err := boards.ParseScore(fmt.Sprint(points))
	if err != nil {
		a.t.Fatal(err)
	}
	old := a.entries[player]
	a.put(board.State{Place: boards.Place{Player: player, Score: s, At: time.UnixMilli(a.clock.UnixMilli()).UTC()}, Rev: old.Rev + 1, Present: true})
}

// leave removes players.
func (a *arena) leave(players ...string) {
	for _, player := range players {
		s := a.entries[player]
		s.Present = false
		a.put(s)
	}
}

// fold delivers what there is.
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

// TestAStaleIndex: p19 rises to where the top does not reach yet, and then the top
// comes down to there, by an index that does not know of it. Nothing but a later
// look can tell.
func TestAStaleIndex(t *testing.T) {
	a := staleArena(t, 20, 3)
	a.score1("p19", -35)
	a.fold()
	a.leave("p0", "p1", "p2")
	a.fold()
	if got := a.first(); got != "p3" {
		t.Fatalf("the first is %q; the test wants p3", got)
	}
	a.leave("p3") // the index shows it still, and it must not come back
	a.fold()
	if got := a.first(); got != "p4" {
		t.Fatalf("the first is %q, want p4 as long as the index lags", got)
	}
	a.clock = a.clock.Add(recheck / 2)
	if got := a.task(); got != `{"looked":0,"failed":0,"later":2,"moved":0}` {
		t.Errorf("too soon: %s", got)
	}
	a.frozen = false
	a.clock = a.clock.Add(recheck)
	if got := a.task(); got != `{"looked":2,"failed":0,"later":0,"moved":0}` || a.first() != "p19" {
		t.Errorf("%s, and the first is %q; want p19", got, a.first())
	}
	a.rest()
	a.compare()
}

// TestALookThatCameTooSoonForSome: what was made from the index after the note was
// put is not settled by a look that is late enough for the note's begin alone.
func TestALookThatCameTooSoonForSome(t *testing.T) {
	a := staleArena(t, 80, 3)
	a.leave("p0", "p1", "p2")
	a.fold() // p3, p4, p5 now
	a.clock = a.clock.Add(recheck - 5*time.Second)
	for _, s := range a.index {
		s.shown = s.shown && a.entries[s.place.Player].Present
	}
	a.score1("p79", -55)
	a.fold()
	a.leave("p3", "p4", "p5")
	a.fold() // p6 and p7 by the index, which still has p79 last
	a.clock = a.clock.Add(6 * time.Second)
	if got := a.task(); got != `{"looked":2,"failed":0,"later":0,"moved":0}` {
		t.Errorf("the first look: %s", got)
	}
	a.frozen = false
	a.clock = a.clock.Add(recheck + time.Second)
	if a.task(); a.first() != "p79" {
		t.Errorf("the first is %q, want p79", a.first())
	}
	a.rest()
	a.compare()
}

// TestAnIndexFullOfGhosts shows more players who are gone than a look reads, though
// the fold read down to those who are not: the look can't tell, and says so.
func TestAnIndexFullOfGhosts(t *testing.T) {
	const ghosts = spare + 30
	a := staleArena(t, ghosts+20, 20)
	a.score1(fmt.Sprint("p", ghosts+19), -10*ghosts-5)
	a.fold()
	for i := range ghosts {
		a.leave(fmt.Sprint("p", i))
	}
	a.fold()
	if want := fmt.Sprint("p", ghosts); a.first() != want {
		t.Fatalf("the first is %q; the test wants %s", a.first(), want)
	}
	for i := range 3 {
		a.clock = a.clock.Add(recheck + time.Second)
		notes := []int{2, 1, 1}[i] // the sum's note is gone after its refresh
		if got := a.task(); got != fmt.Sprintf(`{"looked":%d,"failed":0,"later":0,"moved":0}`, notes) {
			t.Errorf("looked: %s", got)
		}
	}
	a.frozen = false
	a.rest()
	a.compare()
}

// TestARaisedSize makes the top longer without a score.
func TestARaisedSize(t *testing.T) {
	a := staleArena(t, 20, 3)
	a.frozen = false
	for _, h := range a.containers {
		h.tops.hold = board.Hold
	}
	a.resize(6)
	a.fold()
	if n := len(a.top().Entries()); n != 3 {
		t.Errorf("%d held before the task, want 3", n)
	}
	a.rest()
	a.compare()
	if n := len(a.top().Entries()); n < 6 {
		t.Errorf("%d held, want 6 or more", n)
	}
}
