package ingest

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
)

type sessionInput struct {
	CallKey
	Body struct {
		Group httpapi.Name     `json:"group" example:"shop"`
		ID    httpapi.Name     `json:"id" example:"u-17"`
		TTL   httpapi.Duration `json:"ttl" doc:"For how long from now it is active: 1s to 720h"`
		Data  httpapi.Object   `json:"data,omitempty" example:"{\"cart\":[\"book\"]}" doc:"Numbers keep all their digits, 38 at most. Left out, a renewed session keeps what it has"`
	}
	RawBody []byte
}

type sessionAnswer struct {
	Group     httpapi.Name `json:"group"`
	ID        httpapi.Name `json:"id"`
	StartedAt string       `json:"started_at" format:"date-time" doc:"Stays, when an active session is renewed"`
	ExpiresAt string       `json:"expires_at" format:"date-time" doc:"From then on it is not active"`
}

type sessionOutput struct{ Body sessionAnswer }

// putSession starts a session, or renews it.
func (s *Service) putSession(ctx context.Context, in *sessionInput) (*sessionOutput, error) {
	lease, err := in.lease()
	if err != nil {
		return nil, err
	}
	now := s.now()
	if in.keyed() {
		answer, err := decideOnce(ctx, s, &in.CallKey, in.RawBody, now, func(ctx context.Context) ([]types.TransactWriteItem, sessionAnswer, error) {
			action, put, err := s.sessions.PutTransact(ctx, lease, s.now())
			return []types.TransactWriteItem{action}, answerOfSession(put), err
		})
		return &sessionOutput{answer}, err
	}
	put, err := s.sessions.Put(ctx, lease, now)
	if err != nil {
		return nil, refused(ctx, []error{err})
	}
	return &sessionOutput{answerOfSession(put)}, nil
}

func answerOfSession(one sessions.Session) sessionAnswer {
	return sessionAnswer{httpapi.Name(one.Group), httpapi.Name(one.ID), httpapi.FormatTime(one.Started), httpapi.FormatTime(one.Ends)}
}

// lease reads what the call asks for, and checks it.
func (in *sessionInput) lease() (sessions.Lease, error) {
	lease := sessions.Lease{Group: string(in.Body.Group), ID: string(in.Body.ID), TTL: in.Body.TTL.Duration}
	var faults []error
	if fault := in.Body.TTL.Within(sessions.MinTTL, sessions.MaxTTL, time.Millisecond); fault != "" {
		faults = append(faults, &huma.ErrorDetail{Location: "body.ttl", Message: fault, Value: in.Body.TTL.String()})
	}
	data, fault := parseData(in.Body.Data.RawMessage)
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

// endSession ends a session. One that is not there has ended already.
func (s *Service) endSession(ctx context.Context, in *endInput) (*struct{}, error) {
	group, id := string(in.Group), string(in.ID)
	if in.keyed() {
		_, err := decideOnce(ctx, s, &in.CallKey, in.digested(), s.now(), func(context.Context) ([]types.TransactWriteItem, struct{}, error) {
			return []types.TransactWriteItem{s.sessions.EndTransact(group, id)}, struct{}{}, nil
		})
		return nil, err
	}
	if err := s.sessions.End(ctx, group, id, s.now()); err != nil {
		return nil, refused(ctx, []error{err})
	}
	return nil, nil
}

// digested is what tells one keyed call of the kind from another. A name has no
// control characters.
func (in *endInput) digested() []byte { return []byte("end\n" + in.Group + "\n" + in.ID) }
