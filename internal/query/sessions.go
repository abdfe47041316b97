package query

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
)

type sessionsInput struct {
	Group httpapi.Name `query:"group" required:"true" example:"shop"`
	ID    httpapi.Name `query:"id" example:"u-17" doc:"Without it, the answer is the number of active sessions"`
}

type sessionsOutput struct {
	Body oneOf[session, activeSessions]
}

type activeSessions struct {
	Active int `json:"active" doc:"Number of active sessions"`
}

type session struct {
	Group     httpapi.Name   `json:"group"`
	ID        httpapi.Name   `json:"id"`
	Data      httpapi.Object `json:"data,omitzero" doc:"As written; absent if there was none"`
	StartedAt string         `json:"started_at" format:"date-time" doc:"Start of the session, which renewals keep"`
	RenewedAt string         `json:"renewed_at" format:"date-time" doc:"Time of the last PUT"`
	EndsAt    string         `json:"ends_at" format:"date-time" doc:"End of the session, if it is not renewed"`
}

// sessionReader reads and counts the sessions of groups.
type sessionReader struct{ sessions *sessions.Reader }

// getSessions returns one active session, or the number of a group's active sessions.
func (r *sessionReader) getSessions(ctx context.Context, in *sessionsInput, now time.Time) (*sessionsOutput, error) {
	if in.ID != "" {
		one, err := r.getSession(ctx, string(in.Group), string(in.ID), now)
		return &sessionsOutput{oneOf[session, activeSessions]{One: one}}, err
	}
	n, err := r.sessions.Active(ctx, string(in.Group), now)
	return &sessionsOutput{oneOf[session, activeSessions]{Other: activeSessions{n}}}, err
}

// getSession returns an active session, or a 404 if there is none.
func (r *sessionReader) getSession(ctx context.Context, group, id string, now time.Time) (*session, error) {
	v, err := r.sessions.Get(ctx, group, id, now)
	if errors.Is(err, shard.ErrNotFound) {
		return nil, httpapi.Absent("group %q has no active session %q", group, id)
	} else if err != nil {
		return nil, err
	}
	one := &session{
		Group: httpapi.Name(group), ID: httpapi.Name(id),
		StartedAt: httpapi.FormatTime(v.Started), RenewedAt: httpapi.FormatTime(v.Renewed), EndsAt: httpapi.FormatTime(v.Ends),
	}
	if v.Data != nil {
		one.Data.RawMessage, err = httpapi.FormatDocument(v.Data)
	}
	if err != nil {
		err = fmt.Errorf("session %q of group %q: %w", id, group, err)
	}
	return one, err
}

type sessionListInput struct {
	Group  httpapi.Name `query:"group" required:"true" example:"shop"`
	Limit  int          `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Maximum number of sessions in a page"`
	Cursor string       `query:"cursor" doc:"Cursor of the previous page, with the same group"`
}

type sessionListOutput struct {
	Body struct {
		Sessions []listedSession `json:"sessions" doc:"Sorted by id, in byte order"`
		Cursor   string          `json:"cursor,omitempty" doc:"Requests the next page; absent on the last"`
	}
}

type listedSession struct {
	ID        httpapi.Name `json:"id"`
	StartedAt string       `json:"started_at" format:"date-time" doc:"Start of the session, which renewals keep"`
	EndsAt    string       `json:"ends_at" format:"date-time" doc:"End of the session, if it is not renewed"`
}

// listSessions returns a page of a group's active sessions.
func (r *sessionReader) listSessions(ctx context.Context, in *sessionListInput, now time.Time) (*sessionListOutput, error) {
	parameters := "sessions\x00" + string(in.Group)
	after, err := decodeCursor(parameters, in.Cursor, func(id string) bool { return httpapi.Name(id).Fault() == "" })
	if err != nil {
		return nil, err
	}
	out := &sessionListOutput{}
	page := []listedSession{}
	for one, err := range r.sessions.List(ctx, string(in.Group), after, now) {
		if err != nil {
			return nil, err
		}
		if len(page) == in.Limit {
			out.Body.Cursor = encodeCursor(parameters, string(page[in.Limit-1].ID))
			break
		}
		page = append(page, listedSession{httpapi.Name(one.ID), httpapi.FormatTime(one.Started), httpapi.FormatTime(one.Ends)})
	}
	out.Body.Sessions = page
	return out, nil
}
