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

// ParseEntry returns the entry of an item of the table, or an error that says what is damaged. Unless the row is
// outdated, the rank key must match the score and time: folds use the score, and readers of the index the rank key.
func ParseEntry(it map[string]types.AttributeValue) (e Entry, err error) {
	_, _, e.Player, _ = schema.ParseEntryKey(dynamo.Text(it, schema.PK), dynamo.Text(it, schema.SK))
	if e.Score, err = ParseScore(dynamo.Digits(it, schema.EntryScore)); err != nil {
		return e, fmt.Errorf("attribute %s: %w", schema.EntryScore, err)
	}
	millis, err1 := dynamo.Integer(it, schema.EntryAt)
	e.At = time.UnixMilli(millis).UTC()
	rev, err2 := dynamo.Integer(it, schema.EntryRev)
	rowRev, err3 := dynamo.Integer(it, schema.EntryRowRev)
	e.Rev, e.late = rev, rev != rowRev
	row, err4 := ParseRankKey(dynamo.Text(it, schema.RankKey))
	_, _, e.shard, err = schema.ParseBoardShardKey(dynamo.Text(it, schema.BoardShard))
	if err := cmp.Or(err1, err2, err3, err4, err); err != nil {
		return e, err
	}
	e.Lowest = row.Lowest
	isMismatch := row != e.Place && !e.late
	if isMismatch || row.Player != e.Player {
		return e, errors.New("the rank key differs from the entry's player, score and time")
	}
	if it[schema.ExpiresAt] != nil {
		var seconds int64
		seconds, err = dynamo.Integer(it, schema.ExpiresAt)
		e.Expires = time.Unix(seconds, 0)
	}
	return e, err
}

// boardPeriod is one period of a board.
type boardPeriod struct {
	board   string
	label   string
	expires time.Time // zero for never
}

// boardPeriods returns the period of each kind that contains now, with the expiry of its entries.
func (l *Boards) boardPeriods(board string, periods []Period, now time.Time) []boardPeriod {
	list := make([]boardPeriod, len(periods))
	for i, p := range periods {
		list[i] = boardPeriod{board: board, label: p.Label(now)}
		if end := p.End(now); l.retention > 0 && !end.IsZero() {
			list[i].expires = end.Add(l.retention)
		}
	}
	return list
}

// item returns the item of an entry whose row in the index is on write shard n.
func (s boardPeriod) item(p Place, rev int64, n int) dynamo.Item {
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

// row returns the attributes of an entry's item that place its row in the index on write shard n.
func (s boardPeriod) row(p Place, rev int64, n int) dynamo.Item {
	return dynamo.Item{
		schema.BoardShard:  dynamo.String(schema.BoardShardKey(s.board, s.label, n)),
		schema.RankKey:     dynamo.String(p.RankKey()),
		schema.EntryRowRev: dynamo.Number(rev),
	}
}

// nextPlace returns a player's place after a score at a time, given the entry before, which is nil if the player has
// none. If changed is false, the entry stays as it is, and next is not to be used.
func nextPlace(mode Mode, entry *Entry, p PlayerScore, at time.Time) (next Place, changed bool, err error) {
	next = Place{Player: p.Player, Score: p.Score, At: at, Lowest: mode == Lowest}
	if entry == nil {
		return next, true, nil
	}
	switch mode {
	case Latest: // a score that arrives late must not replace a newer score
		return next, !at.Before(entry.At) && next != entry.Place, nil
	case Total:
		sum, ok := entry.Score.Add(p.Score)
		if !ok {
			return entry.Place, false, fmt.Errorf("%w: %s plus %s", ErrScoreRange, entry.Score, p.Score)
		}
		if entry.At.After(at) { // the newest time, whatever the order of the scores
			next.At = entry.At
		}
		next.Score = sum
		return next, sum != entry.Score, nil
	}
	return next, mode.isBetter(p.Score, entry.Score), nil
}

// playerScores are one player's scores in a call.
type playerScores struct {
	PlayerScore               // the scores combined
	indices     []int         // of the scores in the caller's list
	err         error         // why none may be written, or nil
	writes      []*entryWrite // one per period
}

// combineByPlayer combines the scores of each player to the highest, the lowest, the last or the sum. Players are in
// the order of their first scores.
func combineByPlayer(mode Mode, scores []PlayerScore) []*playerScores {
	var list []*playerScores
	index := make(map[string]*playerScores, len(scores))
	for i, s := range scores {
		p := index[s.Player]
		if p == nil {
			p = &playerScores{PlayerScore: s}
			index[s.Player] = p
			list = append(list, p)
		} else {
			p.addScore(mode, s.Score)
		}
		p.indices = append(p.indices, i)
	}
	return list
}

// addScore combines a further score with the player's. If a sum is out of range, it sets the error.
func (p *playerScores) addScore(mode Mode, s Score) {
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
