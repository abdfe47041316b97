package ingest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

type score struct {
	Player httpapi.Name  `json:"player" example:"ann"`
	Score  httpapi.Score `json:"score" example:"12.5"`
}

type scoresInput = bodyInput[scoresInputBody]

type scoresInputBody struct {
	Board  httpapi.Name `json:"board" example:"game/1"`
	Scores []score      `json:"scores" minItems:"1" maxItems:"500" doc:"With an Idempotency-Key at most 99, whose players times the board's periods are at most 99 too: 24 players of a board with four"`
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

// submitScores sends scores to a board. The scores of one player are combined.
func (s *Service) submitScores(ctx context.Context, in *scoresInput) (*scoresOutput, error) {
	board, now := string(in.Body.Board), s.now()
	list := make([]boards.PlayerScore, len(in.Body.Scores))
	for i, sc := range in.Body.Scores {
		list[i] = boards.PlayerScore{Player: string(sc.Player), Score: sc.Score.Score}
	}
	if in.keyed() {
		return s.submitOnce(ctx, in, list, now)
	}
	outcomes := s.boards.Submit(ctx, board, list, now)
	answer := in.Body.answer(outcomes)
	if answer.Accepted == 0 {
		return nil, noneAccepted(ctx, outcomes, in.Body.outOfRange(outcomes)...)
	}
	return &scoresOutput{answer}, nil
}

// outOfRange returns a fault for each score whose outcome is ErrScoreRange.
func (b *scoresInputBody) outOfRange(outcomes []error) (faults []error) {
	for i, err := range outcomes {
		if errors.Is(err, boards.ErrScoreRange) {
			faults = append(faults, &huma.ErrorDetail{
				Location: fmt.Sprintf("body.scores[%d].score", i), Message: boards.ErrScoreRange.Error(), Value: b.Scores[i].Score,
			})
		}
	}
	return faults
}

// answer returns a result for each score, by its error.
func (b *scoresInputBody) answer(outcomes []error) scoresAnswer {
	answer := scoresAnswer{Results: make([]scoreResult, len(outcomes))}
	for i, err := range outcomes {
		status, detail := answer.countItem(err)
		if errors.Is(err, boards.ErrScoreRange) {
			detail = fmt.Sprintf("body.scores[%d].score: %v", i, boards.ErrScoreRange)
		}
		answer.Results[i] = scoreResult{b.Scores[i].Player, status, detail}
	}
	return answer
}

// submitOnce sends the scores of a keyed call in one transaction.
func (s *Service) submitOnce(ctx context.Context, in *scoresInput, list []boards.PlayerScore, now time.Time) (*scoresOutput, error) {
	if n := len(list); n > maxKeyed {
		return nil, tooManyKeyed(n, "scores")
	}
	answer, err := applyOnce(ctx, s, &in.CallKey, now, func(ctx context.Context) ([]shardmap.Write, scoresAnswer, error) {
		writes, err := s.boards.SubmitTransact(ctx, string(in.Body.Board), list, now, s.now())
		switch {
		case errors.Is(err, boards.ErrTooMany):
			err = httpapi.InvalidAt("body.scores", fmt.Sprintf("a call with an Idempotency-Key changes at most %d entries, one for each player and period of the board", maxKeyed), len(list))
		case errors.Is(err, boards.ErrScoreRange):
			err = httpapi.InvalidAt("body.scores", boards.ErrScoreRange.Error(), in.Body.Scores)
		}
		return writes, in.Body.answer(make([]error, len(list))), err
	})
	return &scoresOutput{answer}, err
}
