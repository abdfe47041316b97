package query

import (
	"context"

	"github.com/hotshard/hotshard/internal/httpapi"
)

type sessionsInput struct {
	Group httpapi.Name `query:"group" required:"true" example:"shop"`
}

type sessionsOutput struct {
	Body struct {
		Active int `json:"active" doc:"Sessions that have not ended"`
	}
}

// countSessions reads a row of an index for each of a group's sessions.
func (s *Service) countSessions(ctx context.Context, in *sessionsInput) (*sessionsOutput, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	n, err := s.sessions.Active(ctx, string(in.Group), s.now())
	if err != nil {
		return nil, err
	}
	out := &sessionsOutput{}
	out.Body.Active = n
	return out, nil
}
