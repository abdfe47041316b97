package load

import (
	"context"
	"fmt"
	"iter"
	"maps"

	"golang.org/x/sync/errgroup"
)

// prepareBoard reads the board before the load: the scores of the workload's players, and the names of all others.
func (v *verifier) prepareBoard(ctx context.Context, players map[string]bool) error {
	err := v.eachPlayer(ctx, maps.Keys(players), func(player string, s standing, ok bool) error {
		if !ok {
			return nil
		}
		sum, err := s.sum()
		if err != nil {
			return fmt.Errorf("player %q has the score %s on board %q, which is not a whole number: use another board", player, s.Score, v.Board)
		}
		v.ledger.entryBefore(player, sum)
		return nil
	})
	if err != nil {
		return err
	}
	ranking, err := v.reader.ranking(ctx)
	v.others = map[string]bool{}
	for _, p := range ranking {
		if !players[p.Player] {
			v.others[p.Player] = true
		}
	}
	return err
}

// eachPlayer reads the standing of each player and passes it to do, concurrently; ok is false if the player has no
// entry.
func (v *verifier) eachPlayer(ctx context.Context, players iter.Seq[string], do func(player string, s standing, ok bool) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(v.Concurrency)
	for player := range players {
		group.Go(func() error {
			s, ok, err := v.reader.standing(ctx, player, 0)
			if err == nil {
				err = do(player, s, ok)
			}
			return err
		})
	}
	return group.Wait()
}

// boardCheck is the result of one comparison of the board.
type boardCheck struct {
	findings
	rankError int64 // the largest that the API stated
}

// compareBoard compares the board until it is right, or stays wrong for Settle.
func (v *verifier) compareBoard(ctx context.Context) error {
	var last *boardCheck
	err := v.checkUntilStable(ctx, func() (off uint64, err error) {
		last, err = v.checkBoard(ctx)
		return uint64(last.count), err
	})
	for _, text := range last.first {
		v.differ("%s", text)
	}
	v.count += last.count - len(last.first) // differences that are not listed
	v.result.Players, v.result.RankError = len(v.ledger.players), last.rankError
	return err
}

// checkBoard compares the ranking, the stored top, and every player's entry and rank with the accepted scores and with
// one another.
func (v *verifier) checkBoard(ctx context.Context) (*boardCheck, error) {
	l := &boardCheck{}
	ranking, err := v.reader.ranking(ctx)
	if err != nil {
		return l, err
	}
	top, err := v.reader.top(ctx, topSize)
	if err != nil {
		return l, err
	}
	compareTop(top, ranking, l.differ)
	at := compareOrder(ranking, l.differ)
	for player := range at {
		if v.ledger.players[player] == nil && !v.others[player] {
			l.differ("player %q: is ranked, but no score was accepted", player)
		}
	}
	return l, v.eachPlayer(ctx, maps.Keys(v.ledger.players), func(player string, s standing, ok bool) error {
		var ranked *place
		if i, ok := at[player]; ok {
			ranked = &ranking[i]
		}
		v.ledger.players[player].compare(player, s, ok, ranked, l.differ)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.rankError = max(l.rankError, s.RankError)
		return nil
	})
}

// compareTop reports the first difference between the stored top and the ranking.
func compareTop(top, ranking []place, differ func(string, ...any)) {
	want := ranking[:min(topSize, len(ranking))]
	if len(top) != len(want) {
		differ("the top has %d places, want %d", len(top), len(want))
	}
	for i := range min(len(top), len(want)) {
		if p, w := top[i], want[i]; !p.equal(w) || p.Rank != int64(i)+1 {
			differ("place %d of the top: rank %d, %s, want %s", i+1, p.Rank, p, w)
			break
		}
	}
}

// compareOrder reports places that are out of order or repeat a player. It returns each player's index in the ranking.
func compareOrder(ranking []place, differ func(string, ...any)) map[string]int {
	at := make(map[string]int, len(ranking))
	for i, p := range ranking {
		if _, twice := at[p.Player]; twice {
			differ("player %q: is ranked twice", p.Player)
			continue
		}
		at[p.Player] = i
		if p.Rank != int64(i)+1 {
			differ("%s has the rank %d in the list, want %d", p, p.Rank, i+1)
		}
		if i > 0 && ranking[i-1].compareRank(p) >= 0 {
			differ("%s is ranked after %s", p, ranking[i-1])
		}
	}
	return at
}

func (p place) String() string {
	return fmt.Sprintf("player %q with %s since %s", p.Player, p.Score, p.Time.Format("2006-01-02T15:04:05.000Z"))
}

// compare reports how a player's entry and rank differ from the account, or from the player's place in the ranking. ok
// is false without an entry; ranked is nil without a place.
func (a *account) compare(player string, s standing, ok bool, ranked *place, differ func(string, ...any)) {
	sum, err := s.sum()
	switch {
	case !ok && ranked != nil:
		differ("player %q: is ranked, but has no entry", player)
	case !ok && a.there:
		differ("player %q: accepted, but missing", player)
	case !ok:
	case !a.there && !a.maybe:
		differ("player %q: is there, but no score was accepted", player)
	case err != nil || sum < a.low() || sum > a.high():
		differ("player %q: score %s, want %s", player, s.Score, between(a.low(), a.high()))
	case ranked == nil:
		differ("player %q: has the score %s, but is not ranked", player, s.Score)
	case ranked.Score != s.Score:
		differ("player %q: is ranked with %s, but has %s", player, ranked.Score, s.Score)
	case max(s.Rank-ranked.Rank, ranked.Rank-s.Rank) > s.RankError:
		differ("player %q: rank %d with an error of %d, want %d", player, s.Rank, s.RankError, ranked.Rank)
	}
}
