package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/hotshard/hotshard/internal/httpapi"
)

// The API's maxima for one read of a board.
const (
	maxListed = 1000 // places of the top list
	maxAround = 100  // neighbours on each side
)

// topSize is the size of the board's stored top.
const topSize = 100

// place is a player's place in the API's ranking.
type place struct {
	Rank   int64         `json:"rank"`
	Player string        `json:"player"`
	Score  httpapi.Score `json:"score"`
	Time   time.Time     `json:"time"`
}

// compareRank compares places by rank: higher score first, then the earlier, then by player.
func (p place) compareRank(other place) int {
	return cmp.Or(other.Score.Cmp(p.Score.Score), p.Time.Compare(other.Time), cmp.Compare(p.Player, other.Player))
}

// equal reports whether both have the same player, score and time.
func (p place) equal(other place) bool {
	return p.Player == other.Player && p.compareRank(other) == 0
}

// sum returns the score as a whole number, as all scores of a load are.
func (p place) sum() (int64, error) { return strconv.ParseInt(p.Score.String(), 10, 64) }

// standing is a player's entry, its rank and its neighbors.
type standing struct {
	place
	RankError int64   `json:"rank_error"`
	Neighbors []place `json:"neighbors"`
}

// top returns the first places of the board, or none if there is no board.
func (r *reader) top(ctx context.Context, limit int) ([]place, error) {
	query := url.Values{"board": {r.board}, "limit": {strconv.Itoa(limit)}}
	var answer struct {
		Entries []place `json:"entries"`
	}
	err := r.api.getRetried(ctx, "/v1/leaderboards?"+query.Encode(), &answer)
	if err != nil && !isNotFound(err) {
		return nil, fmt.Errorf("reading board %q: %w", r.board, err)
	}
	return answer.Entries, nil
}

// standing returns a player's standing; ok is false if the player has no entry.
func (r *reader) standing(ctx context.Context, player string, around int) (s standing, ok bool, err error) {
	query := url.Values{"board": {r.board}, "player": {player}, "around": {strconv.Itoa(around)}}
	err = r.api.getRetried(ctx, "/v1/leaderboards/rank?"+query.Encode(), &s)
	if isNotFound(err) {
		return s, false, nil
	}
	if err != nil {
		return s, false, fmt.Errorf("reading the rank of %q on board %q: %w", player, r.board, err)
	}
	return s, true, nil
}

// ranking returns all places of the board, in the API's order. It reads the top list, and then repeatedly the neighbors
// after the last place, at most maxPages times.
func (r *reader) ranking(ctx context.Context) ([]place, error) {
	all, err := r.top(ctx, maxListed)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	for range maxPages {
		more, err := r.placesAfter(ctx, all[len(all)-1])
		if err != nil || len(more) == 0 {
			return all, err
		}
		all = append(all, more...)
	}
	return nil, fmt.Errorf("reading board %q: no end after %d pages", r.board, maxPages)
}

// placesAfter returns the places after the last one. It numbers them from there, because the API's ranks of neighbors have the
// player's rank error.
func (r *reader) placesAfter(ctx context.Context, last place) (next []place, err error) {
	s, _, err := r.standing(ctx, last.Player, maxAround)
	for _, p := range s.Neighbors {
		if last.compareRank(p) < 0 {
			p.Rank = last.Rank + int64(len(next)) + 1
			next = append(next, p)
		}
	}
	return next, err
}

func isNotFound(err error) bool {
	failed, ok := errors.AsType[*callError](err)
	return ok && failed.status == http.StatusNotFound
}
