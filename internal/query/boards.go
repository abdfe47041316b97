package query

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

type boardInput struct {
	Board  httpapi.Name `query:"board" required:"true"`
	Period ddb.Period   `query:"period" enum:"all,day,week" default:"all" doc:"All time, the UTC day or the ISO week that it is now"`
	Limit  int          `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

type placeAnswer struct {
	Rank   int64         `json:"rank"`
	Player httpapi.Name  `json:"player"`
	Score  httpapi.Score `json:"score"`
	Time   string        `json:"time" format:"date-time" doc:"Of the score that made it what it is"`
}

type boardOutput struct {
	Body struct {
		Board   httpapi.Name  `json:"board"`
		Entries []placeAnswer `json:"entries" doc:"The first in rank. Of equal scores the earlier is first, then by player"`
		AsOf    string        `json:"as_of" format:"date-time"`
	}
}

// getBoard answers with the kept top, one read, or with a reading of the index
// where more is asked for than that holds.
func (s *Service) getBoard(ctx context.Context, in *boardInput) (*boardOutput, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	now := s.now()
	name, period := string(in.Board), in.Period.Label(now)
	places, at, err := s.first(ctx, name, period, in.Limit, now)
	if err != nil {
		return nil, fmt.Errorf("reading board %q: %w", name, ddb.Kind(err))
	}
	out := &boardOutput{}
	out.Body.Board, out.Body.AsOf = in.Board, httpapi.FormatTime(at)
	out.Body.Entries = show(places, 1)
	return out, nil
}

// first returns the first in rank, and as of when.
func (s *Service) first(ctx context.Context, name, period string, limit int, now time.Time) ([]ddb.Place, time.Time, error) {
	top, at, err := s.readTop(ctx, name, period)
	if err != nil {
		return nil, at, err
	}
	if top != nil && (top.Whole() || len(top.Entries()) >= limit) {
		entries := top.Entries()
		places := make([]ddb.Place, min(limit, len(entries)))
		for i := range places {
			places[i] = entries[i].Place
		}
		return places, at, nil
	}
	if top == nil {
		if err := s.known(ctx, name); err != nil {
			return nil, at, err
		}
	}
	places, err := s.boards.Top(ctx, name, period, limit, now)
	return places, now, err
}

// known is an error of kind ErrNotFound for a board that nobody set up or sent a
// score to.
func (s *Service) known(ctx context.Context, name string) error {
	pk, sk := schema.SettingsKey(name)
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &s.settings.ItemsTable, Key: itemKey(pk, sk), ConsistentRead: aws.Bool(true)})
	if err == nil && len(out.Item) == 0 {
		return fmt.Errorf("board %q: %w", name, ddb.ErrNotFound)
	}
	return err
}

// readTop reads the kept top of a board's period; nil if there is none.
func (s *Service) readTop(ctx context.Context, name, period string) (*board.Top, time.Time, error) {
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &s.settings.RollupsTable, Key: itemKey(schema.BoardRollupKey(name, period), schema.TopSK),
	})
	if err != nil || len(out.Item) == 0 {
		return nil, time.Time{}, err
	}
	top, err := board.StoredTop(out.Item)
	return top, asOf(out.Item), err
}

// asOf is the time of an item's last fold.
func asOf(item map[string]types.AttributeValue) time.Time {
	n, _ := item[schema.AsOf].(*types.AttributeValueMemberN)
	if n == nil {
		return time.Time{}
	}
	millis, _ := strconv.ParseInt(n.Value, 10, 64) // a fold wrote it
	return time.UnixMilli(millis).UTC()
}

func show(places []ddb.Place, rank int64) []placeAnswer {
	list := make([]placeAnswer, len(places))
	for i, p := range places {
		list[i] = placeAnswer{rank + int64(i), httpapi.Name(p.Player), httpapi.Score{Score: p.Score}, httpapi.FormatTime(p.At)}
	}
	return list
}

type rankInput struct {
	Board  httpapi.Name `query:"board" required:"true"`
	Player httpapi.Name `query:"player" required:"true"`
	Period ddb.Period   `query:"period" enum:"all,day,week" default:"all" doc:"All time, the UTC day or the ISO week that it is now"`
	Around int          `query:"around" minimum:"0" maximum:"100" default:"2" doc:"Neighbours on each side"`
}

type rankOutput struct {
	Body struct {
		Player    httpapi.Name  `json:"player"`
		Score     httpapi.Score `json:"score"`
		Rank      int64         `json:"rank"`
		RankError int64         `json:"rank_error" doc:"How far the rank may be off, up or down; 0 where it is exact. The scores of the last moments may not be in it yet"`
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
	if err != nil {
		return nil, err
	}
	top, _, err := s.readTop(ctx, name, period)
	if err != nil {
		return nil, fmt.Errorf("reading the top of board %q: %w", name, ddb.Kind(err))
	}
	rank, margin, err := s.rank(ctx, name, period, place, top, now)
	if err != nil {
		return nil, fmt.Errorf("ranking a player of board %q: %w", name, ddb.Kind(err))
	}
	above, below, err := s.around(ctx, name, period, place, in.Around, top, now)
	if err != nil {
		return nil, fmt.Errorf("reading neighbours on board %q: %w", name, ddb.Kind(err))
	}
	out := &rankOutput{}
	out.Body.Player, out.Body.Score = in.Player, httpapi.Score{Score: place.Score}
	out.Body.Rank, out.Body.RankError = rank, margin
	out.Body.Neighbors = append(show(above, max(1, rank-int64(len(above)))), show(below, rank+1)...)
	return out, nil
}

// around returns a player's neighbours: those in the top, if it has them all, or
// what the index says.
func (s *Service) around(ctx context.Context, name, period string, of ddb.Place, n int, top *board.Top, now time.Time) (above, below []ddb.Place, err error) {
	if n == 0 {
		return nil, nil, nil
	}
	if top != nil {
		if above, below, known := top.Around(of, n); known {
			return above, below, nil
		}
	}
	return s.boards.Around(ctx, name, period, of, n, now)
}

// maxCounted bounds the entries that are counted in the index for one rank. A
// cell of the histogram with more is answered with its middle, and the error.
const maxCounted = 1000

// rank is exact in the kept top. Behind it, the histogram says how many are in
// higher cells, and those before the player in the own cell are counted.
func (s *Service) rank(ctx context.Context, name, period string, place ddb.Place, top *board.Top, now time.Time) (rank, margin int64, err error) {
	if top != nil {
		if ahead, known := top.Ahead(place); known {
			return int64(ahead) + 1, 0, nil
		}
	}
	histogram, err := s.readHistogram(ctx, name, period)
	if err != nil {
		return 0, 0, err
	}
	cell := histogram.Locate(place.Score)
	if cell.Own > maxCounted {
		rank, margin = cell.Rank()
		return rank, margin, nil
	}
	n, more, err := s.boards.Count(ctx, name, period, cell.From, place.RankKey(), 2*maxCounted, now)
	if err != nil || more {
		rank, margin = cell.Rank()
		return rank, margin, err
	}
	return cell.Above + int64(n) + 1, 0, nil
}

// readHistogram reads the parts of a board's period, and merges them.
func (s *Service) readHistogram(ctx context.Context, name, period string) (histogram board.Histogram, err error) {
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
			return histogram, err
		}
		for _, item := range page.Items {
			part, err := board.StoredHistogram(item)
			if err != nil {
				return histogram, err
			}
			histogram.Merge(part)
		}
	}
	return histogram, nil
}

func itemKey(pk, sk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		schema.PK: &types.AttributeValueMemberS{Value: pk},
		schema.SK: &types.AttributeValueMemberS{Value: sk},
	}
}
