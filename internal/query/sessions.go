package query

import (
	"context"
	"time"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
)

type sessionsInput struct {
	Group httpapi.Name `query:"group" required:"true" example:"shop"`
}

type sessionsOutput struct {
	Body struct {
		Active int `json:"active" doc:"Number of active sessions"`
	}
}

// sessionReader counts the sessions of groups.
type sessionReader struct{ sessions *sessions.Reader }

// count returns the number of a group's active sessions. It reads a row of an index for each.
func (r *sessionReader) count(ctx context.Context, in *sessionsInput, now time.Time) (*sessionsOutput, error) {
	n, err := r.sessions.Active(ctx, string(in.Group), now)
	if err != nil {
		return nil, err
	}
	out := &sessionsOutput{}
	out.Body.Active = n
	return out, nil
}
