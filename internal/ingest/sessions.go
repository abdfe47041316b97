package ingest

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

type sessionInput = bodyInput[sessionInputBody]

type sessionInputBody struct {
	Group httpapi.Name     `json:"group" example:"shop"`
	ID    httpapi.Name     `json:"id" example:"u-17"`
	TTL   httpapi.Duration `json:"ttl" doc:"Time from now for which the session is active: 1s to 720h"`
	Data  httpapi.Object   `json:"data,omitempty" example:"{\"cart\":[\"book\"]}" doc:"Numbers keep all digits, up to 38. If absent, a renewed session keeps its data"`
}

type sessionAnswer struct {
	Group     httpapi.Name `json:"group"`
	ID        httpapi.Name `json:"id"`
	StartedAt string       `json:"started_at" format:"date-time" doc:"Start of the session, which renewals keep"`
	EndsAt    string       `json:"ends_at" format:"date-time" doc:"End of the session, if it is not renewed"`
}

type sessionOutput struct{ Body sessionAnswer }

func (s *Service) putSession(ctx context.Context, in *sessionInput) (*sessionOutput, error) {
	lease, err := in.Body.lease()
	if err != nil {
		return nil, err
	}
	now := s.now()
	if in.keyed() {
		answer, err := applyOnce(ctx, s, &in.CallKey, now, func(ctx context.Context) ([]shardmap.Write, sessionAnswer, error) {
			write, put, err := s.sessions.PutTransact(ctx, lease, s.now())
			return []shardmap.Write{write}, answerOfSession(put), err
		})
		return &sessionOutput{answer}, err
	}
	put, err := s.sessions.Put(ctx, lease, now)
	if err != nil {
		return nil, noneAccepted(ctx, []error{err})
	}
	return &sessionOutput{answerOfSession(put)}, nil
}

func answerOfSession(v sessions.Session) sessionAnswer {
	return sessionAnswer{httpapi.Name(v.Group), httpapi.Name(v.ID), httpapi.FormatTime(v.Started), httpapi.FormatTime(v.Ends)}
}

// lease validates the body and returns it as a lease.
func (b *sessionInputBody) lease() (sessions.Lease, error) {
	lease := sessions.Lease{Group: string(b.Group), ID: string(b.ID), TTL: b.TTL.Duration}
	var faults []error
	if fault := b.TTL.Within(sessions.MinTTL, sessions.MaxTTL, time.Millisecond); fault != "" {
		faults = append(faults, &huma.ErrorDetail{Location: "body.ttl", Message: fault, Value: b.TTL.String()})
	}
	data, fault := parseData(b.Data.RawMessage)
	if fault != nil {
		fault.Location = "body." + fault.Location
		faults = append(faults, fault)
	}
	if len(faults) > 0 {
		return lease, httpapi.Invalid(faults...)
	}
	lease.Data = data
	return lease, nil
}

type endInput struct {
	CallKey
	Group httpapi.Name `query:"group" required:"true" example:"shop"`
	ID    httpapi.Name `query:"id" required:"true" example:"u-17"`
}

// endSession ends a session. It succeeds if the session does not exist.
func (s *Service) endSession(ctx context.Context, in *endInput) (*struct{}, error) {
	group, id := string(in.Group), string(in.ID)
	if in.keyed() {
		in.body = []byte("end\n" + group + "\n" + id) // unambiguous, because a name has no line break
		_, err := applyOnce(ctx, s, &in.CallKey, s.now(), func(context.Context) ([]shardmap.Write, struct{}, error) {
			return []shardmap.Write{s.sessions.EndTransact(ctx, group, id, s.now())}, struct{}{}, nil
		})
		return nil, err
	}
	if err := s.sessions.End(ctx, group, id, s.now()); err != nil {
		return nil, noneAccepted(ctx, []error{err})
	}
	return nil, nil
}
