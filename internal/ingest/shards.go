package ingest

import (
	"context"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

type shardsInput = bodyInput[shardsInputBody]

type shardsInputBody struct {
	httpapi.BaseKey
	Shards *int `json:"shards" required:"true" nullable:"true" minimum:"1" maximum:"1000" example:"20" doc:"The shard count to pin; null ends the pin"`
}

type shardsOutput struct{ Body httpapi.ShardCount }

// putShards pins a shard count, or ends the pin.
func (s *Service) putShards(ctx context.Context, in *shardsInput) (*shardsOutput, error) {
	base := in.Body.Base()
	set, err := setOnce(ctx, s, &in.CallKey, s.now(), func(ctx context.Context) (httpapi.ShardCount, error) {
		return s.pin(ctx, base, in.Body.Shards)
	})
	return &shardsOutput{set}, err
}

// pin pins a key's shard count. It ends the pin if count is nil.
func (s *Service) pin(ctx context.Context, base schema.BaseKey, count *int) (httpapi.ShardCount, error) {
	var entry shardmap.Entry
	var err error
	note := shardmap.Note{By: "api", Why: "pinned", Kind: string(base.Type)}
	if count == nil {
		note.Why = "unpinned"
		entry, err = s.changer.Unpin(ctx, base.String(), note, s.now())
	} else {
		entry, err = s.changer.Pin(ctx, base.String(), *count, note, s.now())
	}
	if err != nil {
		return httpapi.ShardCount{}, err
	}
	return httpapi.ShowShards(base, entry), nil
}
