package boards

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// Entry is a player's entry in one period.
type Entry struct {
	Place
	Rev     int64     // every write raises it, so the higher rev is the newer state
	Expires time.Time // to the second; zero for never

	shard int  // the write shard of the entry's row in the index
	late  bool // the row is outdated
}

// Late reports whether the entry's row in the index is outdated: see Options.DeferRows.
func (e Entry) Late() bool { return e.late }

// ParseEntry returns the entry of an item of the table, or an error that says what is damaged. Unless
// the row is outdated, its rank key must match the score: folds use the score, and readers of the
// index the rank key.
func ParseEntry(it map[string]types.AttributeValue) (e Entry, err error) {
	_, _, e.Player, _ = schema.ParseEntryKey(dynamo.Text(it, schema.PK), dynamo.Text(it, schema.SK))
	if e.Score, err = ParseScore(dynamo.Digits(it, schema.EntryScore)); err != nil {
		return e, fmt.Errorf("its score: %w", err)
	}
	millis, err := dynamo.Integer(it, schema.EntryAt)
	e.At = time.UnixMilli(millis).UTC()
	rev, err2 := dynamo.Integer(it, schema.EntryRev)
	rowRev, err3 := dynamo.Integer(it, schema.EntryRowRev)
	e.Rev, e.late = rev, rev != rowRev
	row, err4 := ParseRankKey(dynamo.Text(it, schema.RankKey))
	_, _, n, err5 := schema.ParseBoardShardKey(dynamo.Text(it, schema.BoardShard))
	e.shard = n
	if err := cmp.Or(err, err2, err3, err4, err5); err != nil {
		return e, err
	}
	e.Lowest = row.Lowest
	if row.Player != e.Player || !e.late && row != e.Place {
		return e, errors.New("its rank key differs from its player, score and time")
	}
	if it[schema.ExpiresAt] != nil {
		var seconds int64
		seconds, err = dynamo.Integer(it, schema.ExpiresAt)
		e.Expires = time.Unix(seconds, 0)
	}
	return e, err
}

// span is one period of a board.
type span struct {
	board   string
	label   string
	expires time.Time // zero for never
}

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
	maps.Copy(it, s.row(p, rev, n))
	if !s.expires.IsZero() {
		it[schema.ExpiresAt] = dynamo.Number(s.expires.Unix())
	}
	return it
}

// row returns the attributes of an entry's row in the index.
func (s span) row(p Place, rev int64, n int) dynamo.Item {
	return dynamo.Item{
		schema.BoardShard:  dynamo.String(schema.BoardShardKey(s.board, s.label, n)),
		schema.RankKey:     dynamo.String(p.RankKey()),
		schema.EntryRowRev: dynamo.Number(rev),
	}
}

// nextPlace returns a player's place after a score at a time, and whether it differs from that of held,
// the player's entry. held is nil for a player without an entry.
func nextPlace(mode Mode, held *Entry, p PlayerScore, at time.Time) (next Place, changed bool, err error) {
	next = Place{Player: p.Player, Score: p.Score, At: at, Lowest: mode == Lowest}
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
	return next, mode.isBetter(p.Score, held.Score), nil
}

// playerCall is one player's part of a call.
type playerCall struct {
	PlayerScore       // the player's scores combined
	indices     []int // in the caller's list
	err         error
	writes      []*entryWrite // one per period
}

// combineByPlayer combines the scores of each player to the highest, the lowest, the last or the sum. Players are in
// the order of their first scores.
func combineByPlayer(mode Mode, scores []PlayerScore) []*playerCall {
	var list []*playerCall
	index := make(map[string]*playerCall, len(scores))
	for i, s := range scores {
		p := index[s.Player]
		if p == nil {
			p = &playerCall{PlayerScore: s}
			index[s.Player] = p
			list = append(list, p)
		} else {
			p.addScore(mode, s.Score)
		}
		p.indices = append(p.indices, i)
	}
	return list
}

func (p *playerCall) addScore(mode Mode, s Score) {
	switch {
	case mode == Total:
		sum, ok := p.Score.Add(s)
		if !ok {
			p.err = ErrScoreRange
		} else {
			p.Score = sum
		}
	case mode == Latest, mode.isBetter(s, p.Score):
		p.Score = s
	}
}
