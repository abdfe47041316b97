package query

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

type shardsInput struct {
	Type schema.Type  `query:"type" enum:"counter,entity,board,sessions,limit"`
	Name httpapi.Name `query:"name"`
}

type shardsOutput struct{ Body shardsAnswer }

// shardsAnswer is one base key's shard count, or a list of all that the shard map
// holds.
type shardsAnswer struct {
	One  *httpapi.ShardCount
	List []httpapi.ShardCount
}

type shardsList struct {
	Keys []httpapi.ShardCount `json:"keys"`
}

// MarshalJSON writes one of the two forms.
func (a shardsAnswer) MarshalJSON() ([]byte, error) {
	if a.One != nil {
		return json.Marshal(a.One)
	}
	return json.Marshal(shardsList{a.List})
}

// Schema describes both forms in the OpenAPI document.
func (shardsAnswer) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{
		r.Schema(reflect.TypeFor[httpapi.ShardCount](), true, "ShardCount"),
		r.Schema(reflect.TypeFor[shardsList](), true, "ShardsList"),
	}}
}

// getShards tells the shard count of a base key, which is 1 for a key that never
// had another, or lists all keys that had.
func (s *Service) getShards(ctx context.Context, in *shardsInput) (*shardsOutput, error) {
	ctx, cancel := s.deadline(ctx)
	defer cancel()
	switch {
	case in.Type == "" && in.Name == "":
		return s.listShards(ctx)
	case in.Type == "":
		return nil, invalid("query.type", "a name needs its type", nil)
	case in.Name == "":
		return nil, invalid("query.name", "a type needs a name", nil)
	}
	base := schema.BaseKey{Type: in.Type, Name: string(in.Name)}
	entry, err := s.shards.Read(ctx, base.String())
	if err != nil {
		return nil, err
	}
	one := httpapi.ShowShards(base, entry)
	return &shardsOutput{shardsAnswer{One: &one}}, nil
}

func (s *Service) listShards(ctx context.Context) (*shardsOutput, error) {
	entries, err := s.shards.Entries(ctx, s.now())
	if err != nil {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b ddb.Entry) int { return cmp.Compare(a.Key, b.Key) })
	list := []httpapi.ShardCount{}
	for _, e := range entries {
		base, err := schema.ParseBaseKey(e.Key)
		if err != nil {
			return nil, err
		}
		list = append(list, httpapi.ShowShards(base, e))
	}
	return &shardsOutput{shardsAnswer{List: list}}, nil
}
