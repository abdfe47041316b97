package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

type score struct {
	Player httpapi.Name  `json:"player"`
	Score  httpapi.Score `json:"score"`
}

type scoresInput struct {
	CallKey
	Body struct {
		Board  httpapi.Name `json:"board"`
		Scores []score      `json:"scores" minItems:"1" maxItems:"500" doc:"With an Idempotency-Key at most 99, whose players times the board's periods are at most 99 too: 33 players of a board with three"`
	}
	RawBody []byte
}

type scoreResult struct {
	Player httpapi.Name `json:"player"`
	Status Status       `json:"status"`
	Detail string       `json:"detail,omitempty"`
}

type scoresAnswer struct {
	Accepted int           `json:"accepted"`
	Rejected int           `json:"rejected"`
	Results  []scoreResult `json:"results"`
}

type scoresOutput struct{ Body scoresAnswer }

// submitScores sends scores to a board, those of one player as one.
func (s *Service) submitScores(ctx context.Context, in *scoresInput) (*scoresOutput, error) {
	if len(in.Body.Scores) == 0 {
		return nil, none("scores")
	}
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	board, now := string(in.Body.Board), s.now()
	list := make([]ddb.PlayerScore, len(in.Body.Scores))
	for i, sc := range in.Body.Scores {
		list[i] = ddb.PlayerScore{Player: string(sc.Player), Score: sc.Score.Score}
	}
	if in.keyed() {
		return s.submitOnce(ctx, in, list, now)
	}
	outcomes := s.boards.Submit(ctx, board, list, now)
	answer := scoresAnswer{Results: make([]scoreResult, len(list))}
	for i, err := range outcomes {
		answer.Results[i] = answer.result(in.Body.Scores[i].Player, err)
	}
	if answer.Accepted == 0 {
		return nil, refused(ctx, outcomes)
	}
	return &scoresOutput{answer}, nil
}

func (a *scoresAnswer) result(player httpapi.Name, err error) scoreResult {
	if err != nil {
		a.Rejected++
		return scoreResult{player, Rejected, rejection(err)}
	}
	a.Accepted++
	return scoreResult{player, Accepted, ""}
}

func (s *Service) submitOnce(ctx context.Context, in *scoresInput, list []ddb.PlayerScore, now time.Time) (*scoresOutput, error) {
	if n := len(list); n > maxKeyed {
		return nil, tooManyKeyed(n, "scores")
	}
	answer := scoresAnswer{Results: make([]scoreResult, len(list))}
	for i, sc := range in.Body.Scores {
		answer.Results[i] = answer.result(sc.Player, nil)
	}
	actions := func(ctx context.Context) ([]types.TransactWriteItem, error) {
		writes, err := s.boards.SubmitTransact(ctx, string(in.Body.Board), list, now, s.now())
		if errors.Is(err, ddb.ErrTooMany) {
			err = invalid(&huma.ErrorDetail{
				Location: "body.scores", Value: len(list),
				Message: fmt.Sprintf("a call with an Idempotency-Key changes at most %d entries, one for each player and period of the board", maxKeyed),
			})
		}
		return writes, err
	}
	answer, err := applyOnce(ctx, s, &in.CallKey, in.RawBody, answer, now, actions)
	return &scoresOutput{answer}, err
}
