package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/client"
)

type boardInput struct {
	Board  httpapi.Name  `query:"board" required:"true" example:"game/1"`
	Period boards.Period `query:"period" enum:"all,day,week,month" default:"all" doc:"All time, the current UTC day, ISO week or month. A period that the board does not keep, and has no entries of, is a 422"`
	Limit  int           `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Maximum number of entries"`
}

type placeAnswer struct {
	Rank   int64         `json:"rank" doc:"1 is the best"`
	Player httpapi.Name  `json:"player"`
	Score  httpapi.Score `json:"score"`
	Time   string        `json:"time" format:"date-time" doc:"Time of the score that set the current value"`
}

type boardOutput struct {
	Body struct {
		Board   httpapi.Name  `json:"board"`
		Entries []placeAnswer `json:"entries" doc:"The best entries. Equal scores are sorted by time, earlier first, then by player"`
		AsOf    string        `json:"as_of" format:"date-time" doc:"Time of the last fold in the entries, or of the read if they come from the index"`
	}
}

// boardReader reads boards from the stored tops and histograms. If these don't have what is asked for, it reads the
// entries and their index.
type boardReader struct {
	client interface {
		client.Getter
		client.Querier
	}
	items, rollups string // the tables
	entries        *boards.Reader
	histograms     dynamo.Cache[histogram] // by schema.BoardRollupKey
}

// getBoard returns the best entries of a board's period. It answers GET /v1/leaderboards.
func (r *boardReader) getBoard(ctx context.Context, in *boardInput, now time.Time) (*boardOutput, error) {
	places, asOf, err := r.readBest(ctx, string(in.Board), in.Period, in.Limit, now)
	if err != nil {
		return nil, fmt.Errorf("reading board %q: %w", in.Board, dynamo.Classify(err))
	}
	out := &boardOutput{}
	out.Body.Board, out.Body.AsOf = in.Board, httpapi.FormatTime(asOf)
	out.Body.Entries = placeAnswers(places, 1)
	return out, nil
}

// readBest returns up to limit best places. They come from the stored top, with one read, as of its last fold. If the top
// has too few places, they come from the index, as of now.
func (r *boardReader) readBest(ctx context.Context, name string, kind boards.Period, limit int, now time.Time) (places []boards.Place, asOf time.Time, err error) {
	period := kind.Label(now)
	top, foldedAt, err := r.readTop(ctx, name, period)
	if err == nil && top == nil {
		err = r.checkPeriod(ctx, name, kind)
	}
	if err != nil {
		return nil, foldedAt, err
	}
	if top != nil && (top.Whole() || len(top.Places()) >= limit) {
		places = top.Places()
		return places[:min(limit, len(places))], foldedAt, nil
	}
	places, err = r.entries.Top(ctx, name, period, limit, now)
	return places, now, err
}

// checkPeriod returns an error if a period can't have entries: a 404 if the board has neither settings nor scores, or
// an invalid parameter if its settings list only other periods.
func (r *boardReader) checkPeriod(ctx context.Context, name string, kind boards.Period) error {
	settings, err := r.readSettings(ctx, name)
	if err != nil {
		return err
	}
	if settings == nil {
		return httpapi.Absent("there is no board %q", name)
	}
	periods := cmp.Or(dynamo.Text(settings, schema.BoardPeriods), string(boards.AllTime))
	if slices.Contains(strings.Split(periods, ","), string(kind)) {
		return nil
	}
	return httpapi.InvalidAt("query.period", "the board doesn't keep this period; it keeps "+strings.ReplaceAll(periods, ",", ", "), kind)
}

// readSettings returns the item of a board's settings, or nil if there is none. The read consumes one RCU.
func (r *boardReader) readSettings(ctx context.Context, name string) (dynamo.Item, error) {
	out, err := r.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &r.items, Key: dynamo.Key(schema.SettingsKey(name)), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, fmt.Errorf("reading the settings of board %q: %w", name, dynamo.Classify(err))
	}
	return out.Item, nil
}

// readTop returns the stored top of a board's period and the time of its last fold, or nil if there is no top.
func (r *boardReader) readTop(ctx context.Context, name, period string) (top *parts.Top, foldedAt time.Time, err error) {
	out, err := r.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &r.rollups, Key: dynamo.Key(schema.BoardRollupKey(name, period), schema.TopSK),
	})
	if err != nil || len(out.Item) == 0 {
		return nil, time.Time{}, err
	}
	top, err = parts.StoredTop(out.Item)
	return top, asOf(out.Item), err
}

// asOf returns the time of an item's last fold, or zero if it is unknown.
func asOf(item dynamo.Item) time.Time {
	at, known := dynamo.Millis(item, schema.AsOf)
	if !known {
		return time.Time{}
	}
	return at
}

// placeAnswers returns adjacent places as JSON, the first of them with this rank.
func placeAnswers(places []boards.Place, rank int64) []placeAnswer {
	list := make([]placeAnswer, len(places))
	for i, p := range places {
		list[i] = placeAnswer{rank + int64(i), httpapi.Name(p.Player), httpapi.Score{Score: p.Score}, httpapi.FormatTime(p.At)}
	}
	return list
}
