package fold

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// ranked is a board whose index shows the first players p0, p1 and so on, of whom the first present ones have entries.
type ranked struct {
	Boards
	shown, present int
	err            error
	moves          map[string]error // the results of moves, by board
}

func (r *ranked) Top(_ context.Context, name, _ string, n int, _ time.Time) (list []boards.Place, err error) {
	if name == "all" {
		return nil, errors.New("a period as the name of a board")
	}
	for i := range min(n, r.shown) {
		list = append(list, boards.Place{Player: fmt.Sprint("p", i), At: time.UnixMilli(int64(i))})
	}
	return list, r.err
}

func (r *ranked) Entries(context.Context, string, string, []string, time.Time) (map[string]boards.Entry, error) {
	entries := map[string]boards.Entry{}
	for i := range r.present {
		player := fmt.Sprint("p", i)
		entries[player] = boards.Entry{Place: boards.Place{Player: player, At: time.UnixMilli(int64(i))}, Rev: 1}
	}
	return entries, nil
}

// MoveRows moves all rows in 1 ms.
func (r *ranked) MoveRows(_ context.Context, name, _ string, players []string, _ time.Time) (int, error) {
	time.Sleep(time.Millisecond)
	return len(players), r.moves[name]
}

// rechecker returns the boards task of a board whose top holds two players.
func rechecker(r *ranked, client Client) *recheckTask {
	f := newRecheckTask(newTopFolder(client, Settings{}, r, time.Now, nil))
	f.capacity = func(size int) int { return size }
	return f
}

// TestRefilledTops checks what a recheck makes of a top, and how often it notes the top again. A top that is not the
// same is stored.
func TestRefilledTops(t *testing.T) {
	damaged := storedTop{Top: parts.UnknownTop(), damaged: dynamo.Item{"x": dynamo.String("x")}}
	none, some, down := storedTop{Top: parts.NewTop()}, storedTop{Top: parts.NewTop(), version: 3}, errors.New("down")
	for name, c := range map[string]struct {
		top            storedTop
		shown, present int
		index, note    error
		holds, notes   int
		same           bool
	}{
		"a period that doesn't exist":              {none, 0, 0, nil, nil, 0, 0, true},
		"a lost top":                               {none, 2, 2, nil, nil, 2, 0, false},
		"a lost top of one of two":                 {none, 2, 1, nil, nil, 1, 0, false},
		"only players who left":                    {none, 100, 0, nil, nil, 0, 1, true},
		"a stored top, and only players who left":  {some, 100, 0, nil, nil, 0, 1, true},
		"a damaged top, and only players who left": {damaged, 100, 0, nil, nil, 0, 1, false},
		"a damaged top without players":            {damaged, 0, 0, nil, nil, 0, 0, false},
		"a top beyond the index":                   {some, 100, 1, nil, nil, 1, 1, false},
		"more than it holds":                       {some, 100, 3, nil, nil, 2, 0, false},
		"an unreadable index":                      {some, 100, 3, down, nil, 0, 0, false},
		"a failed note":                            {some, 100, 1, nil, down, 1, 1, false},
		"a failed note, and only players who left": {some, 100, 0, nil, down, 0, 1, true},
		"a failed note of a short top":             {damaged, 100, 0, nil, down, 0, 1, false},
	} {
		notes := &updates{err: c.note}
		f := rechecker(&ranked{shown: c.shown, present: c.present, err: c.index}, notes)
		next, err := f.refillTop(t.Context(), &boardChanges{Period: parts.Period{Board: "b", Label: "all"}}, c.top, 2)
		if (err != nil) != (c.index != nil || c.note != nil) || len(notes.list) != c.notes {
			t.Errorf("%s: %v, and %d notes, want %d", name, err, len(notes.list), c.notes)
		}
		if c.index == nil && (len(next.Entries()) != c.holds || next.Same(c.top.Top) != c.same) {
			t.Errorf("%s: it holds %+v, and is the same: %t; want %d players", name, next.Entries(), next.Same(c.top.Top), c.holds)
		}
	}
}

// TestUnreadableIndex checks that a short top is not stored if the index can't be read.
func TestUnreadableIndex(t *testing.T) {
	f := rechecker(&ranked{err: errors.New("down")}, &updates{})
	if top, err := f.foldEntries(t.Context(), &boardChanges{}, storedTop{Top: parts.UnknownTop()}, 2); err == nil {
		t.Errorf("a short top is %+v without the index", top)
	}
}

// TestMovesOfRows checks which notes a run handles, and that it moves 500 rows a second.
func TestMovesOfRows(t *testing.T) {
	down := errors.New("down")
	r := &ranked{moves: map[string]error{"full": fmt.Errorf("moving: %w", shard.ErrThrottled), "broken": down}}
	for name, c := range map[string]struct {
		boards              []string // of the notes; each has 3 players
		moved, later, ended int
		takes               time.Duration
	}{
		"none":               {nil, 0, 0, 0, 0},
		"one":                {[]string{"a"}, 3, 0, 1, 6 * time.Millisecond},
		"a failed one":       {[]string{"broken", "a"}, 6, 0, 2, 12 * time.Millisecond},
		"a throttled board":  {[]string{"full", "a", "full", "a"}, 9, 2, 2, 13 * time.Millisecond},
		"as many as allowed": {append(slices.Repeat([]string{"a"}, 99), "full", "a"), 303, 1, 100, 601 * time.Millisecond},
		"more than allowed":  {append([]string{"full"}, slices.Repeat([]string{"a"}, 102)...), 303, 3, 100, 601 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			var notes []dueNote
			for _, name := range c.boards {
				n := dueNote{players: []string{"p", "q", "r"}}
				n.Period = parts.Period{Board: name, Label: "all"}
				notes = append(notes, n)
			}
			ended, began := 0, time.Now()
			moved, later := rechecker(r, nil).moveRows(t.Context(), notes, func(n *dueNote, err error) {
				if ended++; !errors.Is(err, r.moves[n.Board]) || n.Board == "full" {
					t.Errorf("%s: a note of board %s ended with %v", name, n.Board, err)
				}
			})
			if took := time.Since(began); moved != c.moved || later != c.later || ended != c.ended || took != c.takes {
				t.Errorf("%s: %d moved, %d later, %d ended in %v; want %+v", name, moved, later, ended, took, c)
			}
		})
	}
}
