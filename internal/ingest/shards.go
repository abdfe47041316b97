package ingest

import (
	"context"
	"errors"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

type shardsInput struct {
	Body struct {
		httpapi.BaseKey
		Shards *int `json:"shards" required:"true" nullable:"true" minimum:"1" maximum:"1000" doc:"The shard count to pin; null hands the key back to the controller"`
	}
}

type shardsOutput struct{ Body httpapi.ShardCount }

// putShards pins a shard count, or ends the pin.
func (s *Service) putShards(ctx context.Context, in *shardsInput) (*shardsOutput, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	base, now := in.Body.Base(), s.now()
	var entry ddb.Entry
	var err error
	if in.Body.Shards == nil {
		entry, err = s.changer.Unpin(ctx, base.String(), ddb.Note{By: "api", Why: "unpinned"}, now)
	} else {
		entry, err = s.changer.Pin(ctx, base.String(), *in.Body.Shards, ddb.Note{By: "api", Why: "pinned"}, now)
	}
	if err != nil && !errors.Is(err, ddb.ErrNoChange) { // it already is as asked for
		return nil, httpapi.Problem(ctx, err)
	}
	return &shardsOutput{httpapi.ShowShards(base, entry)}, nil
}
