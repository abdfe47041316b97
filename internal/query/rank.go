package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

type rankInput struct {
	Board  httpapi.Name  `query:"board" required:"true" example:"game/1"`
	Player httpapi.Name  `query:"player" required:"true" example:"ann"`
	Period boards.Period `query:"period" enum:"all,day,week" default:"all" doc:"All time, the UTC day or the ISO week that it is now. One that the board neither keeps nor has entries of is a 422"`
	Around int           `query:"around" minimum:"0" maximum:"100" default:"2" doc:"Neighbours on each side"`
}

type rankOutput struct {
	Body struct {
		Player    httpapi.Name  `json:"player"`
		Score     httpapi.Score `json:"score"`
		Rank      int64         `json:"rank" doc:"1 for the first. While so many scores are not folded yet that it can't be told, the answer is a 503"`
		RankError int64         `json:"rank_error" doc:"How far the rank may be off, up or down; 0 where it is exact, as among the first. It holds for the scores that are in the rank: see as_of"`
		AsOf      string        `json:"as_of" format:"date-time" doc:"The last fold that is in the rank: scores accepted later may be missing in it, and so may some accepted shortly before, since each stream shard is folded by itself and others may be behind the one of that fold. Now, where the whole rank was counted in the index, which has a score mostly within a second"`
		Neighbors []placeAnswer `json:"neighbors" doc:"Those before and after the player, in the order of rank. They are exact; their ranks are as the player's"`
	}
}

// getRank answers with a player's own entry, read consistently, and where that
// stands.
func (r *boardReader) getRank(ctx context.Context, in *rankInput, now time.Time) (*rankOutput, error) {
	name, period := string(in.Board), in.Period.Label(now)
	held, err := r.entries.Entry(ctx, name, period, string(in.Player), now)
	if errors.Is(err, shard.ErrNotFound) {
		return nil, cmp.Or(r.keeps(ctx, name, in.Period), err)
	} else if err != nil {
		return nil, err
	}
	top, at, err := r.readTop(ctx, name, period)
	if err != nil {
		return nil, fmt.Errorf("reading the top of board %q: %w", name, dynamo.Kind(err))
	}
	st, above, below, err := r.rankAmong(ctx, view{name, period, top, at, now}, held.Place, in.Around)
	if errors.Is(err, errNotFolded) {
		return nil, httpapi.ProblemWith(ctx, err, "the board's scores are not folded yet: too many are before the player to be counted")
	} else if err != nil {
		return nil, fmt.Errorf("ranking a player of board %q: %w", name, dynamo.Kind(err))
	}
	out := &rankOutput{}
	out.Body.Player, out.Body.Score = in.Player, httpapi.Score{Score: held.Score}
	out.Body.Rank, out.Body.RankError, out.Body.AsOf = st.rank, st.margin, httpapi.FormatTime(st.at)
	out.Body.Neighbors = append(show(above, st.rank-int64(len(above))), show(below, st.rank+1)...)
	return out, nil
}

// standing is a player's rank, how far that may be off, and as of when.
type standing struct {
	rank, margin int64
	at           time.Time
}

// view is a board's period as a request sees it.
type view struct {
	board, period string
	top           *board.Top // nil if there is none
	at            time.Time  // of the top
	now           time.Time
}

// rankAmong ranks a player, by the kept top if that has the newest score: then the rank
// is exact. It also reads the neighbours, from the top if that has them all, else from the
// index. The rank is no less than these say, who may be newer than the last fold.
func (r *boardReader) rankAmong(ctx context.Context, v view, place boards.Place, around int) (st standing, above, below []boards.Place, err error) {
	held := v.top != nil && has(v.top, place)
	if held {
		ahead, above, below, all := v.top.Around(place, around)
		st = standing{rank: int64(ahead) + 1, at: v.at}
		if all {
			return st, above, below, nil
		}
	} else if st, err = r.rank(ctx, v, place); err != nil || around == 0 {
		return st, nil, nil, err
	}
	if above, below, err = r.entries.Around(ctx, v.board, v.period, place, around, v.now); err != nil {
		return st, nil, nil, err
	}
	least := int64(len(above)) + 1
	if !held && len(above) < around {
		st = standing{rank: least, at: v.now} // they are all
	}
	st.rank = max(st.rank, least)
	return st, above, below, nil
}

// has tells whether a top has a player at this place.
func has(top *board.Top, place boards.Place) bool {
	return slices.ContainsFunc(top.Entries(), func(e board.Entry) bool {
		return e.Player == place.Player && board.Compare(e.Place, place) == 0
	})
}

// Bounds of the entries that are counted in the index for one rank.
const (
	// maxCounted is how many the histogram says there are at most. A cell with more is
	// answered with its middle, and the error.
	maxCounted = 1000
	// maxFound is how many there are at most: more than the histogram says, while
	// scores are not folded yet.
	maxFound = 10 * maxCounted
)

// errNotFolded is the error of a rank for which the histogram lacks too much.
var errNotFolded = fmt.Errorf("%w: scores are not folded yet", shard.ErrUnavailable)

// rank takes from the histogram how many are in higher cells, and counts those before
// the player in the own cell. Where these are few, all before the player are counted,
// which needs no fold.
func (r *boardReader) rank(ctx context.Context, v view, place boards.Place) (st standing, err error) {
	histogram, at, err := r.readHistogram(ctx, v.board, v.period)
	if err != nil {
		return st, err
	}
	cell := histogram.Locate(place.Score)
	if cell.Above+cell.Own <= maxCounted { // all that are before the player
		n, more, err := r.entries.Count(ctx, v.board, v.period, "", place.RankKey(), maxFound, v.now)
		if more {
			err = fmt.Errorf("%w: more than %d are before the player, and %d in the histogram", errNotFolded, maxFound, cell.Above+cell.Own)
		}
		return standing{rank: int64(n) + 1, at: v.now}, err
	}
	st.at = at
	st.rank, st.margin = cell.Rank()
	if cell.Own > maxCounted {
		st.margin++ // the player may not be in the cell yet
		return st, nil
	}
	n, more, err := r.entries.Count(ctx, v.board, v.period, cell.From, place.RankKey(), maxFound, v.now)
	if err != nil {
		return st, err
	}
	if more { // what is folded says more
		st.margin++
		return st, nil
	}
	falls, err := r.mayFall(ctx, v.board)
	if st.rank, st.margin = cell.Above+int64(n)+1, 0; falls {
		st.margin = 1 // if the newest score is not folded, an older one in a higher cell counts as another player's
	}
	return st, err
}

// mayFall tells whether a player's score may fall: not where the best counts.
func (r *boardReader) mayFall(ctx context.Context, name string) (bool, error) {
	settings, err := r.settingsOf(ctx, name)
	if err != nil || settings == nil {
		return true, err
	}
	mode := boards.Mode(dynamo.Text(settings, schema.BoardMode))
	return mode != "" && mode != boards.Best, nil
}

// readHistogram reads the parts of a board's period, and merges them. At is when the
// last of them was folded into.
func (r *boardReader) readHistogram(ctx context.Context, name, period string) (histogram board.Histogram, at time.Time, err error) {
	parts := dynamo.Items(ctx, r.client, &dynamodb.QueryInput{
		TableName: &r.rollups, KeyConditionExpression: aws.String("pk = :pk AND begins_with(sk, :parts)"),
		ExpressionAttributeValues: dynamo.Item{
			":pk": dynamo.String(schema.BoardRollupKey(name, period)), ":parts": dynamo.String(schema.HistogramPrefix),
		},
	})
	for item, err := range parts {
		if err != nil {
			return histogram, at, err
		}
		part, err := board.StoredHistogram(item)
		if err != nil {
			return histogram, at, err
		}
		histogram.Merge(part)
		at = later(at, asOf(item))
	}
	return histogram, at, nil
}
