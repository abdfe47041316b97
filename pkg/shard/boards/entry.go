package boards

import (
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// Entry is a player's entry in one period: the place, and the rev. Every write raises rev, so
// the higher rev is the newer state.
type Entry struct {
	Place
	Rev     int64
	Expires time.Time // to the second; zero for never

	shard int // the entry's write shard in the index
}

// parseEntry reads an item of the table, without its expiry. The rank key has all of a place.
func parseEntry(it dynamo.Item) (Entry, error) {
	place, err := ParseRankKey(dynamo.Text(it, schema.RankKey))
	if err != nil {
		return Entry{}, err
	}
	_, _, n, err := schema.ParseBoardShardKey(dynamo.Text(it, schema.BoardShard))
	if err != nil {
		return Entry{}, err
	}
	rev, err := dynamo.Integer(it, schema.EntryRev)
	return Entry{Place: place, Rev: rev, shard: n}, err
}

// span is one period of a board.
type span struct {
	board   string
	label   string
	expires time.Time // zero for never
}

// spans returns the current periods.
func (l *Boards) spans(board string, periods []Period, now time.Time) []span {
	list := make([]span, len(periods))
	for i, p := range periods {
		list[i] = span{board: board, label: p.Label(now)}
		if end := p.End(now); l.retention > 0 && !end.IsZero() {
			list[i].expires = end.Add(l.retention)
		}
	}
	return list
}

// item returns the item of an entry on write shard n.
func (s span) item(p Place, rev int64, n int) dynamo.Item {
	it := dynamo.Key(schema.EntryKey(s.board, s.label, p.Player))
	it[schema.EntryScore] = dynamo.Decimal(p.Score.String())
	it[schema.EntryAt] = dynamo.Number(p.At.UnixMilli())
	it[schema.EntryRev] = dynamo.Number(rev)
	it[schema.BoardShard] = dynamo.String(schema.BoardShardKey(s.board, s.label, n))
	it[schema.RankKey] = dynamo.String(p.RankKey())
	if !s.expires.IsZero() {
		it[schema.ExpiresAt] = dynamo.Number(s.expires.Unix())
	}
	return it
}

// turn returns the place to which a score takes a player, and whether it differs from the place
// held. held is nil for a player without an entry.
func turn(mode Mode, held *Entry, p PlayerScore, at time.Time) (next Place, changed bool, err error) {
	next = Place{Player: p.Player, Score: p.Score, At: at}
	if held == nil {
		return next, true, nil
	}
	switch mode {
	case Latest: // a slow process must not replace a newer score
		return next, !at.Before(held.At) && next != held.Place, nil
	case Total:
		sum, ok := held.Score.Add(p.Score)
		if !ok {
			return held.Place, false, fmt.Errorf("%w: %s and %s", ErrScoreRange, held.Score, p.Score)
		}
		if held.At.After(at) { // the result is the same in any order of scores
			next.At = held.At
		}
		next.Score = sum
		return next, sum != held.Score, nil
	}
	return next, p.Score.Cmp(held.Score) > 0, nil
}

// play is one player's scores and writes of a call.
type play struct {
	PlayerScore
	places []int // indices in the caller's list
	err    error
	writes []*entryWrite // one per period
}

// plays combines the scores of each player, in order of first appearance: to the highest, the
// last or the sum.
func plays(mode Mode, scores []PlayerScore) []*play {
	var list []*play
	index := make(map[string]*play, len(scores))
	for i, s := range scores {
		p := index[s.Player]
		if p == nil {
			p = &play{PlayerScore: s}
			index[s.Player] = p
			list = append(list, p)
		} else {
			p.addScore(mode, s.Score)
		}
		p.places = append(p.places, i)
	}
	return list
}

func (p *play) addScore(mode Mode, s Score) {
	switch {
	case mode == Total:
		sum, ok := p.Score.Add(s)
		if !ok {
			p.err = ErrScoreRange
		} else {
			p.Score = sum
		}
	case mode == Latest, s.Cmp(p.Score) > 0:
		p.Score = s
	}
}
