package ingest

import (
	"context"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

type board struct {
	Board   httpapi.Name    `json:"board" example:"game/1"`
	Mode    boards.Mode     `json:"mode,omitempty" enum:"best,lowest,latest,sum" default:"best" doc:"The counted score of a player: the best (highest), the lowest, the latest, or the sum. lowest: less is better, everywhere. It can't change after the board's first score"`
	Size    int             `json:"size,omitempty" minimum:"1" maximum:"1000" default:"100" doc:"Number of entries in the stored top"`
	Periods []boards.Period `json:"periods,omitempty" minItems:"1" maxItems:"4" enum:"all,day,week,month" doc:"Ranked periods: all time, each UTC day, each ISO week, each month. Default: all"`
}

type boardInput = bodyInput[board]

// boardAnswer has all settings of a board.
type boardAnswer struct {
	Board   httpapi.Name    `json:"board"`
	Mode    boards.Mode     `json:"mode" enum:"best,lowest,latest,sum" doc:"The counted score of a player: the best (highest), the lowest, the latest, or the sum. lowest: less is better, everywhere"`
	Size    int             `json:"size" doc:"Number of entries in the stored top"`
	Periods []boards.Period `json:"periods" enum:"all,day,week,month" doc:"Ranked periods"`
}

type boardOutput struct{ Body boardAnswer }

// putBoard replaces a board's settings. Omitted settings get their defaults.
func (s *Service) putBoard(ctx context.Context, in *boardInput) (*boardOutput, error) {
	set, err := setOnce(ctx, s, &in.CallKey, s.now(), func(ctx context.Context) (boardAnswer, error) {
		return s.configure(ctx, in.Body)
	})
	return &boardOutput{set}, err
}

// configure replaces a board's settings, and returns all settings, with the defaults of omitted ones.
func (s *Service) configure(ctx context.Context, in board) (answer boardAnswer, err error) {
	name := string(in.Board)
	err = s.boards.Configure(ctx, name, boards.Settings{Mode: in.Mode, Size: in.Size, Periods: in.Periods})
	if err != nil {
		return answer, err
	}
	set, err := s.boards.Settings(ctx, name, s.now())
	if err != nil {
		return answer, unavailableAfterSet(err)
	}
	return boardAnswer{in.Board, set.Mode, set.Size, set.Periods}, nil
}
