package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

type score struct {
	Player httpapi.Name  `json:"player" example:"ann"`
	Score  httpapi.Score `json:"score" example:"12.5"`
}

type scoresInput struct {
	CallKey
	Body struct {
		Board  httpapi.Name `json:"board" example:"game/1"`
		Scores []score      `json:"scores" minItems:"1" maxItems:"500" doc:"With an Idempotency-Key at most 99, whose players times the board's periods are at most 99 too: 33 players of a board with three"`
	}
	RawBody []byte
}

type scoreResult struct {
	Player httpapi.Name `json:"player"`
	Status Status       `json:"status"`
	Detail string       `json:"detail,omitempty" doc:"Why it was rejected"`
}

type scoresAnswer struct {
	Counts
	Results []scoreResult `json:"results" doc:"One for each item, in their order"`
}

type scoresOutput struct{ Body scoresAnswer }

// submitScores sends scores to a board, those of one player as one.
func (s *Service) submitScores(ctx context.Context, in *scoresInput) (*scoresOutput, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	board, now := string(in.Body.Board), s.now()
	list := make([]boards.PlayerScore, len(in.Body.Scores))
	for i, sc := range in.Body.Scores {
		list[i] = boards.PlayerScore{Player: string(sc.Player), Score: sc.Score.Score}
	}
	if in.keyed() {
		return s.submitOnce(ctx, in, list, now)
	}
	outcomes := s.boards.Submit(ctx, board, list, now)
	answer := scoresAnswer{Results: make([]scoreResult, len(list))}
	for i, err := range outcomes {
		answer.add(i, in.Body.Scores[i].Player, err)
		if errors.Is(err, boards.ErrScoreRange) {
			answer.Results[i].Detail = fmt.Sprintf("body.scores[%d].score: %v", i, boards.ErrScoreRange)
		}
	}
	if answer.Accepted == 0 {
		return nil, refused(ctx, outcomes, in.outOfRange(outcomes)...)
	}
	return &scoresOutput{answer}, nil
}

// outOfRange names the scores that can't be added.
func (in *scoresInput) outOfRange(outcomes []error) (faults []error) {
	for i, err := range outcomes {
		if errors.Is(err, boards.ErrScoreRange) {
			faults = append(faults, &huma.ErrorDetail{
				Location: fmt.Sprintf("body.scores[%d].score", i), Message: boards.ErrScoreRange.Error(), Value: in.Body.Scores[i].Score,
			})
		}
	}
	return faults
}

func (a *scoresAnswer) add(i int, player httpapi.Name, err error) {
	status, detail := a.take(err)
	a.Results[i] = scoreResult{player, status, detail}
}

func (s *Service) submitOnce(ctx context.Context, in *scoresInput, list []boards.PlayerScore, now time.Time) (*scoresOutput, error) {
	if n := len(list); n > maxKeyed {
		return nil, tooManyKeyed(n, "scores")
	}
	answer := scoresAnswer{Results: make([]scoreResult, len(list))}
	for i, sc := range in.Body.Scores {
		answer.add(i, sc.Player, nil)
	}
	actions := func(ctx context.Context) ([]types.TransactWriteItem, error) {
		writes, err := s.boards.SubmitTransact(ctx, string(in.Body.Board), list, now, s.now())
		if errors.Is(err, boards.ErrTooMany) {
			err = invalid(&huma.ErrorDetail{
				Location: "body.scores", Value: len(list),
				Message: fmt.Sprintf("a call with an Idempotency-Key changes at most %d entries, one for each player and period of the board", maxKeyed),
			})
		}
		if errors.Is(err, boards.ErrScoreRange) {
			err = invalid(&huma.ErrorDetail{Location: "body.scores", Message: boards.ErrScoreRange.Error(), Value: in.Body.Scores})
		}
		return writes, err
	}
	answer, err := applyOnce(ctx, s, &in.CallKey, in.RawBody, answer, now, actions)
	return &scoresOutput{answer}, err
}
