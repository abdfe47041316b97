package load_test

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// fakePlace is a player's entry, and its place in a list.
type fakePlace struct {
	Rank   int64     `json:"rank"`
	Player string    `json:"player"`
	Score  int64     `json:"score"`
	Time   time.Time `json:"time"`
}

// fakeStanding is the response of GET /v1/leaderboards/rank.
type fakeStanding struct {
	fakePlace
	RankError int64       `json:"rank_error"`
	Neighbors []fakePlace `json:"neighbors"`
}

// fakeBoard is a leaderboard of sums. Its list shows a score only at the second read, as if it were folded later, and is
// shorter than requested.
type fakeBoard struct {
	settings string
	entries  map[string]*fakePlace
	stale    []fakePlace                         // the response of the next read; nil for the current entries
	listed   func([]fakePlace) []fakePlace       // changes the ranking that reads see
	standing func(fakeStanding) (_ fakeStanding) // changes ranks
}

const mostListed = 120 // of up to 1,000

func newFakeBoard() fakeBoard {
	return fakeBoard{
		entries:  map[string]*fakePlace{},
		listed:   func(list []fakePlace) []fakePlace { return list },
		standing: func(s fakeStanding) fakeStanding { return s },
	}
}

func (b *fakeBoard) submit(player string, score int64) {
	if b.stale == nil {
		b.stale = b.ranking()
	}
	e := b.entries[player]
	if e == nil {
		e = &fakePlace{Player: player, Time: time.Now().UTC().Truncate(time.Millisecond)}
		b.entries[player] = e
	} else if score != 0 {
		e.Time = time.Now().UTC().Truncate(time.Millisecond)
	}
	e.Score += score
}

func (b *fakeBoard) ranking() []fakePlace {
	list := []fakePlace{}
	for _, e := range b.entries {
		list = append(list, *e)
	}
	slices.SortFunc(list, func(x, y fakePlace) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), x.Time.Compare(y.Time), cmp.Compare(x.Player, y.Player))
	})
	for i := range list {
		list[i].Rank = int64(i) + 1
	}
	return list
}

func (f *fake) putBoard(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch f.fault(r.URL.Path) {
	case busy:
		reject(w, http.StatusTooManyRequests, "no capacity")
		return
	case lostAfter:
		panic(http.ErrAbortHandler)
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	f.board.settings = string(text)
	w.Write(text)
}

func (f *fake) readBoard(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil || limit < 1 || limit > 1000 {
		reject(w, http.StatusUnprocessableEntity, "limit")
		return
	}
	list := f.board.stale
	if f.board.stale = nil; list == nil {
		list = f.board.ranking()
	}
	list = f.board.listed(list)
	list = list[:min(len(list), limit, mostListed)]
	json.NewEncoder(w).Encode(map[string]any{"entries": list})
}

func (f *fake) readRank(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	around, err := strconv.Atoi(r.URL.Query().Get("around"))
	if err != nil || around < 0 || around > 100 {
		reject(w, http.StatusUnprocessableEntity, "around")
		return
	}
	list := f.board.listed(f.board.ranking())
	at := slices.IndexFunc(list, func(p fakePlace) bool { return p.Player == r.URL.Query().Get("player") })
	e := f.board.entries[r.URL.Query().Get("player")]
	if e == nil {
		reject(w, http.StatusNotFound, "no such player")
		return
	}
	s := fakeStanding{fakePlace: *e, Neighbors: []fakePlace{}}
	if at >= 0 {
		s.Rank = int64(at) + 1
		s.Neighbors = slices.Concat(list[max(0, at-around):at], list[at+1:min(len(list), at+1+around)])
	}
	for i := range s.Neighbors {
		s.Neighbors[i].Rank += 7 // as inexact as the player's
	}
	json.NewEncoder(w).Encode(f.board.standing(s))
}
