package query

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

type shardsInput struct {
	Type   httpapi.Kind `query:"type" doc:"Needs name. Without both, the answer lists all keys in the shard map"`
	Name   httpapi.Name `query:"name" example:"page/home"`
	Cursor string       `query:"cursor" doc:"Cursor of the previous page of a list"`
}

type shardsOutput struct{ Body shardsAnswer }

// shardsAnswer is one base key's shard count, or a list of all in the shard map.
type shardsAnswer struct {
	One  *httpapi.ShardCount
	List shardsList
}

type shardsList struct {
	Keys   []httpapi.ShardCount `json:"keys" doc:"Sorted by stored key"`
	Cursor string               `json:"cursor,omitempty" doc:"Requests the next page; absent on the last. A page has about 5 MB"`
}

// MarshalJSON returns an object for one base key, or a list.
func (a shardsAnswer) MarshalJSON() ([]byte, error) {
	if a.One != nil {
		return json.Marshal(a.One)
	}
	return json.Marshal(a.List)
}

// Schema describes both forms in the OpenAPI document.
func (shardsAnswer) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{
		r.Schema(reflect.TypeFor[httpapi.ShardCount](), true, "ShardCount"),
		r.Schema(reflect.TypeFor[shardsList](), true, "ShardsList"),
	}}
}

// shardReader reads shard counts.
type shardReader struct {
	view          *shardmap.Map
	foreignLogged sync.Once
}

// getShards returns the shard count of a base key, which is 1 if it never changed. Without a base key it lists all keys whose
// count changed.
func (r *shardReader) getShards(ctx context.Context, in *shardsInput, now time.Time) (*shardsOutput, error) {
	switch {
	case in.Cursor != "" && (in.Type != "" || in.Name != ""):
		return nil, httpapi.InvalidAt("query.cursor", "it needs a list: omit type and name", in.Cursor)
	case in.Type == "" && in.Name == "":
		return r.list(ctx, in.Cursor, now)
	case in.Type == "":
		return nil, httpapi.InvalidAt("query.type", "name needs a type", nil)
	case in.Name == "":
		return nil, httpapi.InvalidAt("query.name", "type needs a name", nil)
	}
	base := schema.BaseKey{Type: schema.Kind(in.Type), Name: string(in.Name)}
	entry, err := r.view.Read(ctx, base.String())
	if err != nil {
		return nil, err
	}
	one := httpapi.ShowShards(base, entry)
	return &shardsOutput{shardsAnswer{One: &one}}, nil
}

// list returns a page of the shard counts after a cursor, sorted by stored key.
func (r *shardReader) list(ctx context.Context, cursor string, now time.Time) (*shardsOutput, error) {
	after, err := decodeCursor(listOfShards, cursor, isBaseKey)
	if err != nil {
		return nil, err
	}
	entries, err := r.view.Entries(ctx)
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e shardmap.Entry) bool { return e.Key <= after })
	slices.SortFunc(entries, func(a, b shardmap.Entry) int { return cmp.Compare(a.Key, b.Key) })
	entries = r.ownKeys(ctx, entries)
	list, err := fitList(entries)
	return &shardsOutput{shardsAnswer{List: list}}, err
}

// listOfShards has the parameters of a list of shard counts: none.
const listOfShards = "shards"

func isBaseKey(key string) bool {
	_, err := schema.ParseBaseKey(key)
	return err == nil
}

// ownKeys returns the entries without those of other programs, which it logs once.
func (r *shardReader) ownKeys(ctx context.Context, entries []shardmap.Entry) []shardmap.Entry {
	var foreign []string
	entries = slices.DeleteFunc(entries, func(e shardmap.Entry) bool {
		own := isBaseKey(e.Key)
		if !own && len(foreign) < maxForeign {
			foreign = append(foreign, e.Key)
		}
		return !own
	})
	if len(foreign) > 0 {
		r.foreignLogged.Do(func() {
			httpapi.Warn(ctx, "the shard map has keys without a type's prefix, which are not listed", "first", foreign)
		})
	}
	return entries
}

// maxForeign bounds the foreign keys that a log line lists.
const maxForeign = 10

// fitList returns the first entries, as many as fit into one response.
func fitList(entries []shardmap.Entry) (shardsList, error) {
	list := shardsList{Keys: []httpapi.ShardCount{}}
	left := httpapi.MaxAnswer
	for i, e := range entries {
		base, err := schema.ParseBaseKey(e.Key)
		if err != nil {
			return list, err
		}
		count := httpapi.ShowShards(base, e)
		weight, err := httpapi.WeightOf(count)
		if err != nil {
			return list, err
		}
		left -= weight
		if left < 0 && i > 0 {
			list.Cursor = encodeCursor(listOfShards, entries[i-1].Key)
			break
		}
		list.Keys = append(list.Keys, count)
	}
	return list, nil
}
