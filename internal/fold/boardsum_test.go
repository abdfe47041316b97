package fold

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/test/require"
)

// sum returns the stored sum of the histogram; ok is false if none counts.
func (a *arena) sum() (sum parts.Histogram, ok bool) {
	a.t.Helper()
	read, err := a.store().Read(context.Background(), a.period().SumKey())
	if err = errors.Join(err, parts.Damage(read)); err != nil {
		a.t.Fatal(err)
	}
	if len(read) == 0 || !read[0].Counts(a.clock) {
		return sum, false
	}
	return read[0].Value, true
}

// summed returns an arena at rest with a stored sum, and 20 players, more than the top holds.
func summed(t *testing.T) *arena {
	t.Helper()
	a := calm(t, 20)
	for _, h := range a.containers {
		h.rechecks.fewFragments = 1
	}
	a.rest()
	a.score1("p0", 1) // so that the containers have cached that the top is not whole
	a.fold()
	a.rest()
	a.holdsSum(true)
	return a
}

// holdsSum checks that there is a sum, and whether it has all folded records.
func (a *arena) holdsSum(want bool) {
	a.t.Helper()
	if sum, ok := a.sum(); !ok || sum.Same(a.cells()) != want {
		a.t.Fatalf("there is a sum: %t; it has all folded records: %t, want %t", ok, sum.Same(a.cells()), want)
	}
}

// runs has one container run the task after the recheck age.
func (a *arena) runs(h *Handler) string {
	a.pass(recheck + time.Second)
	out, err := h.Invoke(context.Background(), []byte(BoardsTask))
	return fmt.Sprint(string(out), err)
}

// TestSumFollowsItsFragments checks that the sum at rest has folds that wrote no note, since an earlier note
// covers them.
func TestSumFollowsItsFragments(t *testing.T) {
	a := summed(t)
	one, other := a.containers[0], a.containers[1]
	for round, h := range []*Handler{one, other, other, one, one} {
		a.score1(fmt.Sprint("p", 10+round), -1000-round)
		a.by(h)
		a.pass(4 * time.Second)
	}
	a.holdsSum(false)
	if n := a.notes(sumNote); n != 1 {
		t.Errorf("%d notes of sums, want one", n)
	}
	a.rest()
	a.holdsSum(true)
	a.compare()
}

// TestTwoRefreshers checks that a slow refresh stores no older sum over a newer one, whose note is deleted.
func TestTwoRefreshers(t *testing.T) {
	a := summed(t)
	one, other := a.containers[0], a.containers[1]
	a.score1("p11", -1100)
	a.by(one)
	one.tops.client = beforeFirst(a.db, updateOf(schema.SumSK), func() {
		a.score1("p12", -1200)
		a.by(other)
		a.pass(recheck)
		if got := a.runs(other); !strings.HasPrefix(got, `{"looked":1,"failed":0`) {
			t.Errorf("the faster task answered %s, want one sum done", got)
		}
		a.holdsSum(true)
	})
	if got := a.runs(one); !strings.Contains(got, `"looked":0,"failed":0,"later":1`) {
		t.Errorf("the slow task answered %s, want the sum later", got)
	}
	a.holdsSum(true)
	a.rest()
	a.compare()
}

// TestLateNoteKeepsTheNewer checks that a late note of a sum does not set back the time of a newer one.
func TestLateNoteKeepsTheNewer(t *testing.T) {
	a := calm(t, 0)
	for _, late := range []time.Duration{0, -20 * time.Second} {
		require.NoError(t, NoteSum(t.Context(), a.db, a.names.Rollups, a.name, "all", a.clock.Add(late)))
	}
	notes, err := a.containers[0].rechecks.notes(t.Context())
	if err != nil || len(notes) != 1 || notes[0].last != a.clock.UnixMilli() || notes[0].kind != sumNote {
		t.Errorf("notes %+v, %v; want one of a sum, of %v", notes, err, a.clock)
	}
}
