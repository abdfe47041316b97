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
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

type rankInput struct {
	Board  httpapi.Name `query:"board" required:"true"`
	Player httpapi.Name `query:"player" required:"true"`
	Period ddb.Period   `query:"period" enum:"all,day,week" default:"all" doc:"All time, the UTC day or the ISO week that it is now. One that the board neither keeps nor has entries of is a 422"`
	Around int          `query:"around" minimum:"0" maximum:"100" default:"2" doc:"Neighbours on each side"`
}

type rankOutput struct {
	Body struct {
		Player    httpapi.Name  `json:"player"`
		Score     httpapi.Score `json:"score"`
		Rank      int64         `json:"rank"`
		RankError int64         `json:"rank_error" doc:"How far the rank may be off, up or down; 0 where it is exact. It holds for the scores that are in the rank: see as_of"`
		AsOf      string        `json:"as_of" format:"date-time" doc:"The last fold that is in the rank: a score accepted later may be missing in it. Now, where the rank was counted in the index, which has a score mostly within a second"`
		Neighbors []placeAnswer `json:"neighbors" doc:"Those before and after the player, in the order of rank. They are exact; their ranks are as the player's"`
	}
}

// getRank answers with a player's own entry, read consistently, and where that
// stands.
func (s *Service) getRank(ctx context.Context, in *rankInput) (*rankOutput, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	now := s.now()
	name, period := string(in.Board), in.Period.Label(now)
	place, _, err := s.boards.Entry(ctx, name, period, string(in.Player), now)
	if errors.Is(err, ddb.ErrNotFound) {
		return nil, cmp.Or(s.keeps(ctx, name, in.Period), err)
	} else if err != nil {
		return nil, err
	}
	top, at, err := s.readTop(ctx, name, period)
	if err != nil {
		return nil, fmt.Errorf("reading the top of board %q: %w", name, ddb.Kind(err))
	}
	st, above, below, known := inTop(top, place, in.Around)
	if st.at = at; !known {
		if st, above, below, err = s.inIndex(ctx, name, period, place, in.Around, now); err != nil {
			return nil, fmt.Errorf("ranking a player of board %q: %w", name, ddb.Kind(err))
		}
	}
	out := &rankOutput{}
	out.Body.Player, out.Body.Score = in.Player, httpapi.Score{Score: place.Score}
	out.Body.Rank, out.Body.RankError, out.Body.AsOf = st.rank, st.margin, httpapi.FormatTime(st.at)
	out.Body.Neighbors = append(show(above, st.rank-int64(len(above))), show(below, st.rank+1)...)
	return out, nil
}

// standing is a player's rank, how far that may be off, and as of when.
type standing struct {
	rank, margin int64
	at           time.Time
}

// inTop ranks a player by the kept top, which is exact. It does not know those who
// are behind its floor, whose newest score is not folded yet, or some of whose
// neighbours it lacks.
func inTop(top *board.Top, place ddb.Place, around int) (st standing, above, below []ddb.Place, known bool) {
	if top == nil || !has(top, place) {
		return st, nil, nil, false
	}
	above, below, known = top.Around(place, around)
	ahead, _ := top.Ahead(place) // it has the place
	return standing{rank: int64(ahead) + 1}, above, below, known
}

// has tells whether a top has a player at this place.
func has(top *board.Top, place ddb.Place) bool {
	return slices.ContainsFunc(top.Entries(), func(e board.Entry) bool {
		return e.Player == place.Player && board.Compare(e.Place, place) == 0
	})
}

// inIndex ranks a player by the histogram and the index, which has the neighbours. The
// rank is no less than these say, who may be newer than the last fold.
func (s *Service) inIndex(ctx context.Context, name, period string, place ddb.Place, around int, now time.Time) (st standing, above, below []ddb.Place, err error) {
	if st, err = s.rank(ctx, name, period, place, now); err != nil {
		return st, nil, nil, err
	}
	wanted := max(1, around)
	if above, below, err = s.boards.Around(ctx, name, period, place, wanted, now); err != nil {
		return st, nil, nil, err
	}
	least := int64(len(above)) + 1
	if len(above) < wanted {
		st.rank, st.margin = least, 0 // they are all
	}
	st.rank = max(st.rank, least)
	if around == 0 {
		above, below = nil, nil
	}
	return st, above, below, nil
}

// maxCounted bounds the entries that are counted in the index for one rank. A
// cell of the histogram with more is answered with its middle, and the error.
const maxCounted = 1000

// rank takes from the histogram how many are in higher cells, and counts those before
// the player in the own cell. Where these are few, all before the player are counted,
// which needs no fold.
func (s *Service) rank(ctx context.Context, name, period string, place ddb.Place, now time.Time) (standing, error) {
	histogram, at, err := s.readHistogram(ctx, name, period)
	if err != nil {
		return standing{}, err
	}
	st, cell := standing{at: at}, histogram.Locate(place.Score)
	st.rank, st.margin = cell.Rank()
	if cell.Above+cell.Own <= maxCounted { // all that are before the player
		st.at = now
		err = s.count(ctx, name, period, board.Cell{}, place, now, &st)
		return st, err
	}
	if cell.Own <= maxCounted {
		err = s.count(ctx, name, period, cell, place, now, &st)
	}
	if place.At.After(at) {
		st.margin++ // an older score of the player's may be in a higher cell
	}
	return st, err
}

// count counts the entries before the player's from where a cell begins. If they are
// too many, the standing stays as the histogram has it, but for what was seen.
func (s *Service) count(ctx context.Context, name, period string, cell board.Cell, place ddb.Place, now time.Time, st *standing) error {
	n, more, err := s.boards.Count(ctx, name, period, cell.From, place.RankKey(), 2*maxCounted, now)
	if err != nil {
		return err
	}
	counted := cell.Above + int64(n) + 1
	if more {
		st.rank = max(st.rank, counted)
		return nil
	}
	st.rank, st.margin = counted, 0
	return nil
}

// readHistogram reads the parts of a board's period, and merges them. At is when the
// last of them was folded into.
func (s *Service) readHistogram(ctx context.Context, name, period string) (histogram board.Histogram, at time.Time, err error) {
	pages := dynamodb.NewQueryPaginator(s.client, &dynamodb.QueryInput{
		TableName: &s.settings.RollupsTable, KeyConditionExpression: aws.String("pk = :pk AND begins_with(sk, :parts)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":pk":    &types.AttributeValueMemberS{Value: schema.BoardRollupKey(name, period)},
			":parts": &types.AttributeValueMemberS{Value: schema.HistogramPrefix},
		},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return histogram, at, err
		}
		for _, item := range page.Items {
			part, err := board.StoredHistogram(item)
			if err != nil {
				return histogram, at, err
			}
			histogram.Merge(part)
			at = later(at, asOf(item))
		}
	}
	return histogram, at, nil
}
