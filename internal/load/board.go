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
	"github.com/hotshard/hotshard/internal/workload"
)

// Bounds of one read of a board: the API's own.
const (
	maxListed = 1000 // places of the top list
	maxAround = 100  // neighbours on each side
)

// topSize is how many places of the board's top are kept at hand.
const topSize = 100

// setBoard makes the board one of sums. A board that had scores in another mode
// is an error.
func (d *driver) setBoard(ctx context.Context) error {
	settings := map[string]any{"board": d.Board, "mode": "sum", "size": topSize, "periods": []string{"all"}}
	var answer struct{}
	if err := d.insist(ctx, http.MethodPut, "/v1/leaderboards", settings, &answer); err != nil {
		return fmt.Errorf("setting up board %q: %w", d.Board, err)
	}
	return nil
}

type score struct {
	Player string `json:"player"`
	Score  int64  `json:"score"`
}

// submitScores sends each request's bytes as a score of its player.
func (d *driver) submitScores(ctx context.Context, batch []workload.Request) ([]state, error) {
	states, err := d.deliver(ctx, delivery{
		path: "/v1/scores", key: d.callKey(), again: d.Keyed, items: len(batch),
		body: func(pending []int) any {
			scores := make([]score, len(pending))
			for i, at := range pending {
				scores[i] = score{batch[at].Player(), batch[at].Bytes}
			}
			return map[string]any{"board": d.Board, "scores": scores}
		},
	})
	for i, r := range batch {
		d.ledger.score(r, states[i])
	}
	return states, err
}

// place is where the API says that a player stands.
type place struct {
	Rank   int64         `json:"rank"`
	Player string        `json:"player"`
	Score  httpapi.Score `json:"score"`
	Time   time.Time     `json:"time"`
}

// against orders places as ranks should be: the higher score first, of equal
// ones the earlier, then by player.
func (p place) against(other place) int {
	return cmp.Or(other.Score.Cmp(p.Score.Score), p.Time.Compare(other.Time), cmp.Compare(p.Player, other.Player))
}

// same tells whether both have the same player, score and time.
func (p place) same(other place) bool {
	return p.Player == other.Player && p.against(other) == 0
}

// sum is the score as a whole number, which those of a load are.
func (p place) sum() (int64, error) { return strconv.ParseInt(p.Score.String(), 10, 64) }

// standing is a player's own entry, where that is in rank, and who is near.
type standing struct {
	place
	RankError int64   `json:"rank_error"`
	Neighbors []place `json:"neighbors"`
}

// readTop returns the first places of the board, none if there is no board.
func (d *driver) readTop(ctx context.Context, limit int) ([]place, error) {
	query := url.Values{"board": {d.Board}, "limit": {strconv.Itoa(limit)}}
	var answer struct {
		Entries []place `json:"entries"`
	}
	err := d.get(ctx, "/v1/leaderboards?"+query.Encode(), &answer)
	if err != nil && !isNotFound(err) {
		return nil, fmt.Errorf("reading board %q: %w", d.Board, err)
	}
	return answer.Entries, nil
}

// readStanding returns a player's, or ok false for one without an entry.
func (d *driver) readStanding(ctx context.Context, player string, around int) (s standing, ok bool, err error) {
	query := url.Values{"board": {d.Board}, "player": {player}, "around": {strconv.Itoa(around)}}
	err = d.get(ctx, "/v1/leaderboards/rank?"+query.Encode(), &s)
	if isNotFound(err) {
		return s, false, nil
	}
	if err != nil {
		return s, false, fmt.Errorf("reading the rank of %q on board %q: %w", player, d.Board, err)
	}
	return s, true, nil
}

// readRanking returns all places of the board, in the API's order: those of the
// top list, and from there on the next neighbours of the last one. Each step gets
// beyond that one, so it ends.
func (d *driver) readRanking(ctx context.Context) ([]place, error) {
	all, err := d.readTop(ctx, maxListed)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	for range maxPages {
		next, err := d.readNext(ctx, all[len(all)-1])
		if err != nil || len(next) == 0 {
			return all, err
		}
		all = append(all, next...)
	}
	return nil, fmt.Errorf("reading board %q: no end after %d pages", d.Board, maxPages)
}

// readNext returns the places that follow one. They are numbered from it on: a
// neighbour's own rank is only as exact as the player's.
func (d *driver) readNext(ctx context.Context, last place) (next []place, err error) {
	s, _, err := d.readStanding(ctx, last.Player, maxAround)
	for _, p := range s.Neighbors {
		if last.against(p) < 0 {
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
